//! The rules: what the services themselves document, or what their keys look like.
//!
//! Of two rules that hold, the first says the kind. A beginning and what follows it stand apart, so that no
//! scanner of a code host takes this file for a leak.

use super::super::SecretKind;
use super::secret_rule::CharSet::{Alnum, Base64, Crypt, Digit, Dotted, Hex, Upper, Url, Word};
use super::secret_rule::KeyPart::{AtLeast, Between, Exactly, First, Random, Text};
use super::secret_rule::SecretRule;

macro_rules! rules {
    ($(
        $kind:ident $name:literal [$($start:literal)*] [$($part:expr),*]
            [$($example:literal)*] $lookalike:literal;
    )*) => {
        &[$(SecretRule {
            kind: SecretKind::$kind,
            starts: &[$($start),*],
            parts: &[$($part),*],
            #[cfg(test)]
            name: $name,
            #[cfg(test)]
            examples: &[$($example),*],
            #[cfg(test)]
            lookalike: $lookalike,
        }),*]
    };
}

/// SecretKind, name, beginnings, what follows, examples of what follows, and what only looks like it.
pub(super) const RULES: &[SecretRule] = rules! {
    Aws "access key" ["AKIA" "ASIA" "ABIA" "ACCA"] [Exactly(16, Upper)] ["{U16}"] "ASIAPACIFIC";
    Aws "Bedrock key" ["ABSK"] [AtLeast(60, Base64)] ["{B110}"] "ABSKSHORT";
    Aws "short Bedrock key" ["bedrock-api-key-"] [AtLeast(20, Base64)] ["{B120}"] "bedrock-api-key-rotation";
    Aws "session token" ["IQoJb3JpZ2lu" "FwoGZXIvYXdz" "FQoGZXIvYXdz"] [AtLeast(60, Base64)]
        ["{B300}"] "FwoGZXIvYXdz";
    Google "API key" ["AIza"] [AtLeast(30, Word)] ["{W35}"] "AIzation";
    Google "API key with a dot" ["AQ.Ab8RN6"] [AtLeast(30, Word)] ["{W44}"] "AQ.Ab8RN6";
    Google "OAuth client secret" ["GOCSPX-"] [AtLeast(16, Word)] ["{W28}"] "GOCSPX-secret";
    Google "access token" ["ya29."] [AtLeast(20, Dotted)] ["a0{W120}"] "ya29.txt";
    Google "refresh token" ["1//0"] [AtLeast(20, Word)] ["{W60}"] "1//0.5";
    GitHub "classic token" ["ghp_" "gho_" "ghu_" "ghr_"] [AtLeast(12, Word)]
        ["{A36}" "{A76}"] "ghp_token";
    GitHub "app token" ["ghs_"] [AtLeast(12, Dotted)] ["{A36}" "ey{A40}.{W80}.{W40}"] "ghs_app";
    GitHub "fine-grained token" ["github_pat_"] [AtLeast(12, Word)] ["{A22}_{A59}"] "github_pat_name";
    GitLab "token" [
        "glpat-" "gldt-" "glrt-" "glrtr-" "glcbt-" "glptt-" "glft-" "glimt-" "glagent-" "gloas-" "glsoat-"
        "glffct-" "glwt-"
    ] [AtLeast(12, Dotted)] ["{W20}" "{h40}" "{W27}.01.{a9}"] "glpat-prefix";
    GitLab "registration token" ["GR1348941"] [AtLeast(16, Word)] ["{W20}"] "GR1348941-2";
    Slack "token" [
        "xoxb-" "xoxp-" "xoxa-" "xoxr-" "xoxs-" "xoxo-" "xoxc-" "xoxd-" "xoxe-" "xoxe." "xapp-" "xwfp-"
    ] [AtLeast(10, Base64)] ["{D11}-{D12}-{A24}" "1-{A146}" "{D12}-{D12}-{h64}" "{B140}"] "xoxb-token";
    Stripe "key" ["sk_live_" "sk_test_" "rk_live_" "rk_test_"] [AtLeast(10, Word)]
        ["{A24}" "51{A99}"] "sk_test_key";
    Stripe "organization key" ["sk_org_"] [AtLeast(16, Word)] ["live_{A99}"] "sk_org_id";
    Stripe "webhook secret" ["whsec_"] [AtLeast(16, Base64)] ["{A32}"] "whsec_name";
    Model "Anthropic" ["sk-ant-"] [AtLeast(12, Word)] ["api03-{W93}AA" "oat01-{W93}AA"] "sk-ant-key";
    Model "OpenAI" ["sk-proj-" "sk-svcacct-" "sk-admin-" "sk-None-"] [AtLeast(12, Word)]
        ["{W74}T3BlbkFJ{W74}"] "sk-proj-one";
    Model "OpenAI session" ["sess-"] [Random(36, Alnum)] ["{A40}"] "sess-12345";
    Model "Cursor" ["key_"] [Exactly(64, Hex)] ["{h64}"] "key_deadbeef";
    Model "OpenRouter" ["sk-or-v1-"] [AtLeast(12, Word)] ["{h64}"] "sk-or-v1-model";
    Model "Langfuse" ["sk-lf-"] [AtLeast(16, Word)] ["{G}"] "sk-lf-trace";
    Model "OpenAI, DeepSeek and others" ["sk-"] [Random(16, Word)]
        ["{A20}T3BlbkFJ{A20}" "{h32}"] "sk-toggleable__content-and-label";
    Model "Hugging Face" ["hf_"] [AtLeast(16, Alnum)] ["{C34}"] "hf_hub_download_file";
    Model "Hugging Face organization" ["api_org_"] [AtLeast(20, Alnum)] ["{C34}"] "api_org_members";
    Model "Hugging Face OAuth" ["hf_oauth_"] [AtLeast(20, Word)] ["{W60}"] "hf_oauth_redirect";
    Model "Groq" ["gsk_"] [AtLeast(20, Alnum)] ["{A52}"] "gsk_renderer";
    Model "xAI" ["xai-"] [AtLeast(20, Alnum)] ["{A80}"] "xai-sdk-python-examples";
    Model "Perplexity" ["pplx-"] [AtLeast(20, Alnum)] ["{A48}"] "pplx-embed";
    Model "NVIDIA" ["nvapi-"] [AtLeast(20, Word)] ["{W64}"] "nvapi-samples";
    Model "Replicate" ["r8_"] [AtLeast(20, Alnum)] ["{A37}"] "r8_unorm";
    Model "Together" ["tgp_v1_"] [AtLeast(20, Word)] ["{W43}"] "tgp_v1_models";
    Model "Pinecone" ["pcsk_"] [AtLeast(20, Word)] ["{A6}_{A63}"] "pcsk_index";
    Model "LangSmith" ["lsv2_"] [AtLeast(20, Word)] ["pt_{h32}_{h10}"] "lsv2_tracing";
    Model "LangSmith, before" ["ls__"] [AtLeast(30, Alnum)] ["{h32}"] "ls__config";
    Model "Tavily" ["tvly-"] [AtLeast(16, Word)] ["{A32}"] "tvly-search";
    Model "Jina" ["jina_"] [AtLeast(30, Alnum)] ["{A60}"] "jina_embeddings_v3_base_multilingual";
    Model "E2B" ["e2b_"] [AtLeast(30, Hex)] ["{h40}"] "e2b_sandbox";
    Model "Cerebras" ["csk-"] [AtLeast(40, Alnum)] ["{a48}"] "csk-model";
    Model "Fireworks" ["fw_"] [AtLeast(22, Alnum)] ["{A24}"] "fw_version";
    Model "ElevenLabs" ["sk_"] [AtLeast(40, Hex)] ["{h48}"] "sk_buff";
    Model "Firecrawl" ["fc-"] [AtLeast(32, Hex)] ["{h32}"] "fc-cache";
    Model "Voyage" ["pa-"] [Exactly(43, Word)] ["{W43}"] "pa-rser";
    Registry "npm" ["npm_"] [AtLeast(20, Alnum)] ["{A36}"] "npm_config_registry_and_more";
    Registry "Nexus" ["NpmToken."] [AtLeast(32, Word)] ["{G}"] "NpmToken.parse";
    Registry "PyPI" ["pypi-"] [AtLeast(20, Word)] ["AgEIcHlwaS5vcmc{W150}"] "pypi-mirror";
    Registry "Docker Hub" ["dckr_pat_" "dckr_oat_"] [AtLeast(12, Word)] ["{W27}" "{W32}"] "dckr_pat_file";
    Registry "RubyGems" ["rubygems_"] [AtLeast(32, Hex)] ["{h48}"] "rubygems_version";
    Registry "crates.io" ["cio"] [Exactly(32, Alnum)] ["{A32}"] "cioppino";
    Registry "NuGet" ["oy2"] [Exactly(43, Alnum)] ["{a43}"] "oy2";
    Registry "Artifactory" ["AKCp"] [AtLeast(60, Alnum)] ["{A69}"] "AKCp8";
    Registry "Artifactory reference" ["cmVmdGtu"] [AtLeast(50, Alnum)] ["{A56}"] "cmVmdGtu";
    Registry "Clojars" ["CLOJARS_"] [AtLeast(40, Alnum)] ["{h60}"] "CLOJARS_USERNAME";
    Registry "JSR" ["jsrp_"] [AtLeast(20, Alnum)] ["{A40}"] "jsrp_scope";
    Service "Vault" ["hvs." "hvb." "hvr."] [AtLeast(16, Word)] ["{W90}" "{W140}"] "hvs.read";
    Service "Vault, before" ["s."] [Exactly(24, Alnum)] ["{A24}"] "s.partitionByFirstLetters";
    Service "Terraform Cloud" [""] [Between(10, 20, Alnum), Text(".atlasv1."), AtLeast(40, Word)]
        ["{A14}.atlasv1.{W67}"] "token.atlasv1.x";
    Service "Heroku" ["HRKU-"] [AtLeast(16, Word)] ["AA{W58}"] "HRKU-app";
    Service "DigitalOcean" ["dop_v1_" "doo_v1_" "dor_v1_"] [AtLeast(16, Hex)] ["{h64}"] "dop_v1_token";
    Service "Twilio" ["SK"] [Exactly(32, Hex)] ["{h32}"] "SKIP";
    Service "SendGrid" ["SG."] [AtLeast(16, Word), Text("."), AtLeast(20, Word)]
        ["{W22}.{W43}"] "SG.mail.send";
    Service "Mailgun" ["key-"] [Exactly(32, Hex)] ["{h32}"] "key-value";
    Service "Mailgun, new" [""] [Exactly(32, Hex), Text("-"), Exactly(8, Hex), Text("-"), Exactly(8, Hex)]
        ["{h32}-{h8}-{h8}"] "c74cc080-94b9-4841";
    Service "Mailchimp" [""] [Exactly(32, Hex), Text("-us"), Between(1, 2, Digit)]
        ["{h32}-us12"] "d41d8cd98f00b204e9800998ecf8427e-usage";
    Service "Mailersend" ["mlsn."] [AtLeast(40, Hex)] ["{h64}"] "mlsn.com";
    Service "Brevo" ["xkeysib-" "xsmtpsib-"] [AtLeast(20, Word)] ["{h64}-{A16}"] "xkeysib-name";
    Service "Resend" ["re_"] [Exactly(8, Alnum), Text("_"), Random(20, Word)]
        ["{A8}_{A24}"] "re_compiled_pattern_of_words";
    Service "Shopify" ["shpat_" "shpss_" "shpca_" "shppa_" "shptka_"] [AtLeast(16, Alnum)]
        ["{h32}"] "shpat_token";
    Service "Square" ["sq0atp-" "sq0csp-"] [AtLeast(16, Word)] ["{W22}" "{W43}"] "sq0atp-id";
    Service "Square access token" ["EAAA"] [AtLeast(50, Word)] ["{W60}"] "EAAA";
    Service "Databricks" ["dapi" "dkea"] [AtLeast(32, Hex)] ["{h32}"] "dapi_client";
    Service "Pulumi" ["pul-"] [AtLeast(32, Hex)] ["{h40}"] "pul-lover";
    Service "Postman" ["PMAK-" "PMAT-"] [AtLeast(20, Word)] ["{h24}-{h34}"] "PMAK-collection";
    Service "Linear" ["lin_api_" "lin_oauth_"] [AtLeast(16, Alnum)] ["{A40}"] "lin_api_version";
    Service "Notion" ["ntn_"] [AtLeast(30, Alnum)] ["{D11}{A35}"] "ntn_page";
    Service "Notion, before" ["secret_"] [AtLeast(40, Alnum)]
        ["{A43}"] "secret_access_key_of_this_account_and_region";
    Service "Figma" ["figd_" "figu_"] [AtLeast(16, Word)] ["{W40}"] "figd_file";
    Service "Atlassian" ["ATATT3" "ATCTT3"] [AtLeast(20, Base64)] ["{W180}={X8}"] "ATATT3";
    Service "Bitbucket" ["ATBB"] [AtLeast(24, Base64)] ["{A32}"] "ATBB";
    Service "Grafana service account" ["glsa_"] [AtLeast(16, Word)] ["{A32}_{h8}"] "glsa_token";
    Service "Grafana Cloud" ["glc_eyJ"] [AtLeast(16, Base64)] ["{A80}"] "glc_eyJ";
    Service "New Relic" ["NRAK-" "NRJS-" "NRAA-"] [AtLeast(16, Alnum)] ["{U27}"] "NRAK-user";
    Service "New Relic Insights" ["NRII-"] [AtLeast(16, Word)] ["{W32}"] "NRII-insert";
    Service "New Relic license" [""] [First(36, Alnum), Text("NRAL")] ["{h32}FFFFNRAL"] "NRAL";
    Service "Sentry organization" ["sntrys_"] [AtLeast(20, Base64)] ["eyJ{A90}={B43}"] "sntrys_org";
    Service "Sentry user" ["sntryu_"] [AtLeast(20, Alnum)] ["{h64}"] "sntryu_user";
    Service "PlanetScale" ["pscale_tkn_" "pscale_pw_" "pscale_oauth_"] [AtLeast(16, Dotted)]
        ["{W43}"] "pscale_pw_name";
    Service "Supabase" ["sbp_"] [AtLeast(20, Alnum)] ["{h40}"] "sbp_project";
    Service "Supabase secret key" ["sb_secret_"] [AtLeast(16, Word)] ["{W31}"] "sb_secret_key";
    Service "Netlify" ["nfp_"] [AtLeast(20, Alnum)] ["{A36}"] "nfp_deploy";
    Service "Netlify OAuth" ["nfc_" "nfo_"] [AtLeast(30, Alnum)] ["{A36}"] "nfo_site";
    Service "Doppler" ["dp.pt." "dp.ct." "dp.sa." "dp.scim." "dp.audit."] [AtLeast(16, Alnum)]
        ["{A43}"] "dp.pt.name";
    Service "Doppler service token" ["dp.st."] [AtLeast(16, Dotted)] ["dev.{A43}"] "dp.st.dev";
    Service "Tailscale" ["tskey-"] [AtLeast(12, Word)] ["auth-{A12}-{A32}"] "tskey-auth";
    Service "Dynatrace" ["dt0c01." "dt0s01."] [AtLeast(20, Dotted)] ["{U24}.{U64}"] "dt0c01.token";
    Service "EasyPost" ["EZAK" "EZTK"] [AtLeast(40, Alnum)] ["{a54}"] "EZAK";
    Service "Flutterwave" ["FLWSECK"] [AtLeast(12, Word)] ["_TEST-{h32}-X"] "FLWSECK_KEY";
    Service "SonarQube" ["squ_" "sqp_" "sqa_"] [AtLeast(32, Hex)] ["{h40}"] "squ_token";
    Service "Sourcegraph" ["sgp_"] [AtLeast(32, Word)] ["{h40}" "local_{h40}"] "sgp_search";
    Service "CircleCI" ["CCIPAT_" "CCIPRJ_"] [AtLeast(20, Word)] ["{A22}_{h40}"] "CCIPAT_NAME";
    Service "Buildkite" ["bkua_"] [AtLeast(32, Hex)] ["{h40}"] "bkua_agent";
    Service "Contentful" ["CFPAT-"] [AtLeast(20, Word)] ["{W43}"] "CFPAT-space";
    Service "ReadMe" ["rdme_"] [AtLeast(40, Alnum)] ["{a70}"] "rdme_docs";
    Service "Prefect" ["pnu_"] [AtLeast(30, Alnum)] ["{a36}"] "pnu_flow";
    Service "Duffel" ["duffel_live_" "duffel_test_"] [AtLeast(20, Word)] ["{W43}"] "duffel_test_mode";
    Service "Shippo" ["shippo_live_" "shippo_test_"] [AtLeast(20, Hex)] ["{h40}"] "shippo_test_label";
    Service "Adobe" ["p8e-"] [AtLeast(30, Alnum)] ["{a32}"] "p8e-client";
    Service "Alibaba Cloud" ["LTAI"] [AtLeast(12, Alnum)] ["{a20}"] "LTAI_KEY";
    Service "Tencent Cloud" ["AKID"] [AtLeast(32, Alnum)] ["{A32}"] "AKID";
    Service "1Password" ["ops_eyJ"] [AtLeast(40, Base64)] ["{A250}"] "ops_eyJ";
    Service "1Password secret key" ["A3-"] [
        Exactly(6, Upper), Text("-"), Exactly(11, Upper), Text("-"), Exactly(5, Upper), Text("-"),
        Exactly(5, Upper), Text("-"), Exactly(5, Upper)
    ] ["{U6}-{U11}-{U5}-{U5}-{U5}"] "A3-LANDSCAPE-PAPER";
    Service "1Password secret key, split" ["A3-"] [
        Exactly(6, Upper), Text("-"), Exactly(6, Upper), Text("-"), Exactly(5, Upper), Text("-"),
        Exactly(5, Upper), Text("-"), Exactly(5, Upper), Text("-"), Exactly(5, Upper)
    ] ["{U6}-{U6}-{U5}-{U5}-{U5}-{U5}"] "A3-POSTER-FORMAT";
    Service "Render" ["rnd_"] [AtLeast(24, Alnum)] ["{A28}"] "rnd_seed";
    Service "Fly.io" ["fm2_" "fm1r_"] [AtLeast(40, Base64)] ["{B200}"] "fm2_token";
    Service "Fly.io, before" ["fo1_"] [AtLeast(30, Word)] ["{W43}"] "fo1_token";
    Service "Apify" ["apify_api_"] [AtLeast(20, Alnum)] ["{A36}"] "apify_api_client";
    Service "PostHog" ["phx_"] [AtLeast(30, Alnum)] ["{A43}"] "phx_new";
    Service "Pylon" ["pylf_v1_"] [AtLeast(20, Word)] ["{W43}"] "pylf_v1_read";
    Service "HubSpot" ["pat-na1-" "pat-eu1-"] [AtLeast(20, Word)] ["{G}"] "pat-na1-region";
    Service "Airtable" ["pat"] [Exactly(14, Alnum), Text("."), AtLeast(50, Word)]
        ["{A14}.{h64}"] "patternMatching.rs";
    Service "Harness" ["pat."] [
        AtLeast(20, Word), Text("."), AtLeast(20, Word), Text("."), AtLeast(16, Word)
    ] ["{A22}.{h24}.{A20}"] "pat.account.token.name";
    Service "Zuplo" ["zpka_"] [AtLeast(30, Word)] ["{h32}_{h8}"] "zpka_key";
    Service "Typeform" ["tfp_"] [AtLeast(40, Base64)] ["{W44}_{A14}"] "tfp_form";
    Service "Dropbox" ["sl." "sl.u."] [AtLeast(60, Word)] ["{W135}"] "sl.open";
    Service "Facebook" ["EAAC" "EAAG"] [AtLeast(60, Alnum)] ["{A100}"] "EAAGER";
    Service "Facebook, every app" ["EAA"] [AtLeast(100, Alnum)] ["{A150}"] "EAAGERLY";
    Service "Instagram" ["IGQV"] [AtLeast(60, Word)] ["{A120}"] "IGQV";
    Service "Twitter" ["AAAAAAAAAAAAAAAAAAAAA"] [AtLeast(40, Base64)]
        ["{A14}%{A45}"] "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    Service "Telegram" ["" "bot"] [Between(8, 12, Digit), Text(":A"), Between(31, 45, Word)]
        ["{d10}:A{W33}"] "12345678:Also_words";
    Service "Discord" ["M" "N" "O"] [
        Between(22, 27, Word), Text("."), Between(6, 7, Word), Text("."), Between(27, 45, Word)
    ] ["{A23}.{A6}.{W38}"] "ModuleWithALongNameInside.parser.rs";
    Service "Plaid" ["access-production-" "access-sandbox-"] [AtLeast(20, Word)]
        ["{G}"] "access-sandbox-mode";
    Service "Anyscale" ["esecret_"] [AtLeast(20, Alnum)] ["{A26}"] "esecret_name";
    Service "Axiom" ["xaat-" "xapt-"] [AtLeast(30, Word)] ["{G}"] "xaat-dataset";
    Service "Cloudflare origin CA" ["v1.0-"] [AtLeast(150, Word)] ["{h24}-{h146}"] "v1.0-beta";
    Service "Deno" ["ddp_"] [AtLeast(30, Alnum)] ["{A36}"] "ddp_training";
    Service "GoCardless" ["live_"] [Exactly(40, Word)] ["{W40}"] "live_reload";
    Service "Lob" ["live_" "test_"] [Exactly(35, Hex)] ["{h35}"] "test_deadbeef";
    Service "Infracost" ["ico-"] [AtLeast(30, Alnum)] ["{A32}"] "ico-png";
    Service "42" ["s-s4t2ud-" "s-s4t2af-"] [AtLeast(60, Hex)] ["{h64}"] "s-s4t2ud-app";
    Service "OpenShift" ["sha256~"] [AtLeast(40, Word)] ["{W43}"] "sha256~digest";
    Service "Razorpay, with its secret" ["rzp_live_" "rzp_test_"] [
        Exactly(14, Alnum), Text(":"), AtLeast(20, Alnum)
    ] ["{A14}:{A24}"] "rzp_live_id:secret";
    Service "Razorpay" ["rzp_live_" "rzp_test_"] [AtLeast(12, Alnum)] ["{A14}"] "rzp_test_key";
    Service "Rootly" ["rootly_"] [AtLeast(40, Hex)] ["{h64}"] "rootly_incident";
    Service "Scalingo" ["tk-us-"] [Exactly(48, Word)] ["{W48}"] "tk-us-east";
    Service "SettleMint" ["sm_pat_" "sm_aat_" "sm_sat_"] [AtLeast(16, Alnum)] ["{A16}"] "sm_pat_name";
    Service "Snyk" ["snyk_uat." "snyk_sat."] [AtLeast(20, Dotted)] ["{h8}.{W90}"] "snyk_uat.name";
    Service "Val Town" ["vtwn_"] [AtLeast(20, Alnum)] ["{A27}"] "vtwn_val";
    Service "Vercel" ["vcp_" "vca_" "vck_" "vci_"] [AtLeast(24, Alnum)] ["{A56}"] "vcp_project";
    Service "WakaTime" ["waka_"] [AtLeast(30, Word)] ["{G}"] "waka_time";
    Service "Yandex API key" ["AQVN"] [AtLeast(34, Word)] ["{W38}"] "AQVN";
    Service "Yandex static key" ["YCAJE"] [AtLeast(20, Word)] ["{W20}"] "YCAJE";
    Service "Yandex token" ["t1."] [AtLeast(80, Base64)] ["A{W20}={W86}"] "t1.micro";
    Service "Trigger.dev" ["tr_prod_" "tr_dev_"] [AtLeast(16, Alnum)] ["{A20}"] "tr_dev_run";
    Service "Adafruit" ["aio_"] [AtLeast(26, Alnum)] ["{A28}"] "aio_read";
    Service "Ory" ["ory_at_" "ory_pat_"] [AtLeast(20, Word)] ["{W43}"] "ory_pat_name";
    Service "Outline" ["ol_api_"] [AtLeast(30, Alnum)] ["{A38}"] "ol_api_url";
    Service "LaunchDarkly" ["sdk-" "api-" "mob-"] [
        Exactly(8, Hex), Text("-"), Exactly(4, Hex), Text("-"), Exactly(4, Hex), Text("-"), Exactly(4, Hex),
        Text("-"), Exactly(12, Hex)
    ] ["{G}"] "api-deadbeef-2";
    Service "Cloudflare" ["cfut_" "cfat_" "cfk_"] [AtLeast(30, Alnum)] ["{A40}"] "cfut_user";
    Service "Neon" ["napi_"] [AtLeast(40, Alnum)] ["{a64}"] "napi_get_value_string_utf8";
    Service "MongoDB Atlas" ["mdb_sa_sk_"] [AtLeast(30, Word)] ["{W40}"] "mdb_sa_sk_name";
    Service "Daytona" ["dtn_"] [Exactly(64, Hex)] ["{h64}"] "dtn_deadbeef";
    Service "ClickUp" ["pk_"] [Between(5, 10, Digit), Text("_"), AtLeast(30, Upper)]
        ["{d7}_{U32}"] "pk_12345_ID";
    Service "Asana" ["1/" "2/"] [
        Between(10, 20, Digit), Text("/"), Between(10, 20, Digit), Text(":"), AtLeast(32, Hex)
    ] ["{d16}/{d16}:{h32}"] "2/3:4";
    Service "Intercom" ["dG9rO"] [AtLeast(50, Base64)] ["{A55}"] "dG9rO";
    Service "Infisical" ["st."] [Exactly(24, Hex), Text("."), Exactly(32, Hex), Text("."), AtLeast(32, Hex)]
        ["{h24}.{h32}.{h32}"] "st.a.b.c";
    Service "Braintree" ["access_token$production$" "access_token$sandbox$"] [
        Exactly(16, Alnum), Text("$"), AtLeast(32, Hex)
    ] ["{a16}${h32}"] "access_token$production$id";
    Azure "client secret" [""] [First(3, Url), First(1, Digit), Text("Q~"), AtLeast(24, Url)]
        ["{A3}8Q~{A34}"] "abc8Q~";
    Azure "DevOps token" [""] [First(52, Alnum), Text("JQQJ99"), AtLeast(20, Alnum)]
        ["{a52}JQQJ99{A12}ACAAAAA{A6}AZDO{A4}"] "JQQJ99";
    Service "Mapbox" ["sk.eyJ"] [AtLeast(7, Word), AtLeast(0, Url)] ["{A60}.{W22}"] "sk.eyJ";
    Jwt "web token" [
        "eyJhbGciOi" "eyJ0eXAiOi" "eyJraWQiOi" "eyJlbmMiOi" "eyJjdHkiOi" "eyJ4NXQi" "eyJqa3Ui" "eyJ6aXAiOi"
    ] [AtLeast(6, Word), AtLeast(0, Url)]
        ["JIUzI1NiJ9.eyJzdWIiOiIx{A60}.{W43}" "{A30}.{W40}.{W16}.{W80}.{W22}"] "eyJhbGciOi";
    Jwt "web token with another header" ["eyJ"] [AtLeast(7, Word), Text(".eyJ"), AtLeast(7, Url)]
        ["{A20}.eyJ{A40}.{W43}"] "eyJ2ZXJzaW9uIjozLCJzb3VyY2VzIjpbImEuanMiXX0=";
    PasswordFile "MD5 crypt" ["$1$"] [AtLeast(20, Crypt)] ["{A8}${A22}"] "$1$2";
    PasswordFile "Apache MD5" ["$apr1$"] [AtLeast(20, Crypt)] ["{A8}${A22}"] "$apr1$2";
    PasswordFile "bcrypt" ["$2a$" "$2b$" "$2y$"] [AtLeast(40, Crypt)] ["12${A53}"] "$2a$10";
    PasswordFile "SHA-256 and SHA-512 crypt, yescrypt" ["$5$" "$6$" "$y$"] [AtLeast(30, Crypt)]
        ["{A12}${A86}"] "$5$total";
    PasswordFile "Argon2" ["$argon2"] [AtLeast(30, Crypt)]
        ["id$v=19$m=65536,t=3,p=4${A22}${A43}"] "$argon2id";
    PrivateKey "age" ["AGE-SECRET-KEY-"] [AtLeast(40, Upper)] ["1{U58}"] "AGE-SECRET-KEY-1";
    PrivateKey "wallet" ["xprv" "yprv" "zprv" "tprv"] [AtLeast(100, Alnum)] ["{A107}"] "xprvate";
    PrivateKey "Nostr" ["nsec1"] [Exactly(58, Alnum)] ["{a58}"] "nsec1key";
    // The bodies of private keys without their frames: OpenSSH, and PEM that was encoded once more.
    PrivateKey "OpenSSH body" ["b3BlbnNzaC1rZXktdjE"] [AtLeast(20, Base64)] ["{B64}"] "b3BlbnNzaC1rZXktdjE";
    PrivateKey "PEM in base64" [
        "LS0tLS1CRUdJTiBSU0EgUFJJVkFURS" "LS0tLS1CRUdJTiBEU0EgUFJJVkFURS" "LS0tLS1CRUdJTiBFQyBQUklWQVRF"
        "LS0tLS1CRUdJTiBQUklWQVRF" "LS0tLS1CRUdJTiBPUEVOU1NI" "LS0tLS1CRUdJTiBFTkNSWVBU"
        "LS0tLS1CRUdJTiBQR1AgUFJJVkFURS"
    ] [AtLeast(20, Base64)] ["{B64}"] "LS0tLS1CRUdJTiBQUklWQVRF";
};
