//! Keys that are known by their shape, as their services document them: `kind=shape`, with the shapes of
//! `fill`.
//!
//! A `|` is left out when a key is made, so that no scanner of a code host takes this file for a leak.

/// One a line.
pub(super) const SHAPED: &str = "\
aws access key=AK|IA{U16}
aws session key=AS|IA{U16}
aws bedrock=AB|SK{B110}
google api=AI|za{W35}
google oauth secret=GOC|SPX-{W28}
google access=ya|29.a0{W120}
google refresh=1|//0{W60}
github classic=gh|p_{A36}
github oauth=gh|o_{A36}
github user=gh|u_{A36}
github server=gh|s_{A36}
github refresh=gh|r_{A76}
github fine=github|_pat_{A22}_{A59}
gitlab personal=gl|pat-{W20}
gitlab routable=gl|pat-{W27}.01.{a9}
gitlab runner=gl|rt-{W20}
gitlab deploy=gl|dt-{W20}
gitlab trigger=gl|ptt-{h40}
gitlab job=gl|cbt-64_{W20}
gitlab feed=gl|ft-{W20}
gitlab mail=gl|imt-{W25}
gitlab agent=gl|agent-{W50}
gitlab scim=gl|soat-{W20}
gitlab app=gl|oas-{h64}
gitlab registration=GR|1348941{W20}
slack bot=xo|xb-{D11}-{D12}-{A24}
slack user=xo|xp-{D11}-{D12}-{D13}-{h32}
slack app=xa|pp-1-A{U10}-{D13}-{h64}
slack config=xo|xe.xoxp-1-{A146}
slack client=xo|xc-{D12}-{D12}-{h64}
slack cookie=xo|xd-{B140}
stripe live=sk|_live_{A24}
stripe long=sk|_live_51{A99}
stripe test=sk|_test_{A24}
stripe restricted=rk|_live_{A99}
stripe webhook=wh|sec_{A32}
anthropic api=sk-|ant-api03-{W93}AA
anthropic admin=sk-|ant-admin01-{W93}AA
anthropic oauth=sk-|ant-oat01-{W93}AA
openai legacy=sk|-{A20}T3BlbkFJ{A20}
openai project=sk|-proj-{W74}T3BlbkFJ{W74}
openai service=sk|-svcacct-{W74}T3BlbkFJ{W74}
openrouter=sk|-or-v1-{h64}
deepseek=sk|-{h32}
hugging face=hf|_{C34}
hugging face org=api|_org_{C34}
groq=gs|k_{A52}
xai=xa|i-{A80}
perplexity=pp|lx-{A48}
nvidia=nv|api-{W64}
replicate=r8|_{A37}
fireworks=fw|_{A24}
langsmith=ls|v2_pt_{h32}_{h10}
pinecone=pc|sk_{A6}_{A63}
tavily=tv|ly-{A32}
cerebras=cs|k-{a48}
npm=np|m_{A36}
pypi=py|pi-AgEIcHlwaS5vcmc{W150}
docker hub=dck|r_pat_{W27}
docker org=dck|r_oat_{W32}
rubygems=ruby|gems_{h48}
crates.io=ci|o{A32}
nuget=oy|2{a43}
artifactory=AK|Cp{A69}
artifactory reference=cmVm|dGtu{A56}
clojars=CLO|JARS_{h60}
vault=hv|s.{W90}
vault batch=hv|b.{W140}
terraform cloud={A14}.atl|asv1.{W67}
heroku=HRK|U-AA{W58}
digitalocean=do|p_v1_{h64}
digitalocean oauth=do|o_v1_{h64}
twilio key=S|K{h32}
sendgrid=S|G.{W22}.{W43}
mailgun=ke|y-{h32}
mailgun new={h32}-{h8}-{h8}
mailchimp={h32}-u|s12
brevo=xkey|sib-{h64}-{A16}
shopify=shp|at_{h32}
shopify secret=shp|ss_{h32}
shopify custom=shp|ca_{h32}
square=sq0|atp-{W22}
square secret=sq0|csp-{W43}
square access=EA|AA{W60}
databricks=da|pi{h32}-2
pulumi=pu|l-{h40}
postman=PM|AK-{h24}-{h34}
linear=lin|_api_{A40}
notion=nt|n_{D11}{A35}
notion old=sec|ret_{A43}
figma=fi|gd_{W40}
atlassian=ATA|TT3{W180}={X8}
bitbucket=AT|BB{A32}
grafana service=gl|sa_{A32}_{h8}
grafana cloud=gl|c_eyJ{A80}
new relic user=NR|AK-{U27}
new relic license={h32}FFFF|NRAL
sentry user=sntr|yu_{h64}
sentry org=sntr|ys_eyJ{A90}={B43}
planetscale=pscale|_tkn_{W43}
planetscale password=pscale|_pw_{W43}
supabase=sb|p_{h40}
supabase secret=sb|_secret_{W31}
doppler=dp|.pt.{A43}
tailscale=ts|key-auth-{A12}-{A32}
dynatrace=dt|0c01.{U24}.{U64}
easypost=EZ|AK{a54}
flutterwave=FLW|SECK_TEST-{h32}-X
sonarqube=sq|u_{h40}
sourcegraph=sg|p_{h40}
sourcegraph local=sg|p_local_{h40}
circleci=CCI|PAT_{A22}_{h40}
buildkite=bk|ua_{h40}
contentful=CF|PAT-{W43}
readme=rd|me_{a70}
prefect=pn|u_{a36}
duffel=duffel|_live_{W43}
shippo=shippo|_live_{h40}
adobe=p|8e-{a32}
alibaba=LT|AI{a20}
tencent=AK|ID{A32}
1password=op|s_eyJ{A250}
1password key=A3|-{U6}-{U11}-{U5}-{U5}-{U5}
render=rn|d_{A28}
fly=fm|2_{B200}
fly old=fo|1_{W43}
apify=apify|_api_{A36}
posthog=ph|x_{A43}
hubspot=pat|-na1-{G}
airtable=pa|t{A14}.{h64}
typeform=tf|p_{W44}_{A14}
dropbox=sl|.{W135}
facebook=EA|AG{A100}
instagram=IG|QV{A120}
twitter bearer=AAAAAAAAAAAAAAAAAAAAA|{A14}%{A45}
telegram={d10}:A|A{W33}
discord=M|{A23}.{A6}.{W38}
mapbox=sk|.eyJ{A60}.{W22}
plaid=access-|production-{G}
intra42=s-s4t2ud|-{h64}
harness=pat|.{A22}.{h24}.{A20}
settlemint=sm|_pat_{A16}
infracost=ic|o-{A32}
netlify=nf|p_{A36}
vercel=vc|p_{A56}
openshift=sha|256~{W43}
scalingo=tk-|us-{W48}
yandex=AQ|VN{W38}
yandex token=t|1.A{W20}={W86}
cloudinary=cloudinary://{D15}:{W27}@demo
azure client={A3}8|Q~{A34}
azure devops={a52}JQQJ99{A12}AC|AAAAA{A6}AZDO{A4}
jwt=ey|JhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.ey|JzdWIiOiIx{A60}.{W43}
jwe=ey|JlbmMiOiJBMjU2R0NNIiwi{A30}.{W40}.{W16}.{W80}.{W22}
age=AGE|-SECRET-KEY-1{U58}
crypt sha512=$|6${A12}${A86}
bcrypt=$|2b$12${A53}
argon2=$|argon2id$v=19$m=65536,t=3,p=4${A22}${A43}
github app jwt=gh|s_ey{A40}.{W80}.{W40}
launchdarkly=sd|k-{G}
launchdarkly api=ap|i-{G}
snyk=sny|k_uat.{h8}.{W90}
cloudflare ca=v1|.0-{h24}-{h146}
okta in header=SS|WS 00{W40}
dropbox long=sl|.u.{W140}
rootly=root|ly_{h64}
sendinblue smtp=xsmtp|sib-{h64}-{A16}
gocardless=live|_{W40}
lob=live|_{h35}
razorpay=rzp|_live_{A14}
paystack=sk|_live_{h40}
wakatime=wak|a_{G}
elevenlabs=sk|_{h48}
deno=dd|p_{A36}
val town=vt|wn_{A27}
resend=re|_{A8}_{A24}
clerk=sk|_live_{A42}
mailersend=ml|sn.{h64}
anyscale=es|ecret_{A26}
voyage=pa|-{W43}
turso=ey|JhbGciOiJFZERTQSIsInR5cCI6IkpXVCJ9.ey|JhIjoicnci{A80}.{W86}
axiom=xa|at-{G}
slack webhook=https://hooks.sl|ack.com/services/T{U8}/B{U10}/{A24}
discord webhook=https://disc|ord.com/api/webhooks/{D18}/{W68}
teams webhook=https://acme.web|hook.office.com/webhookb2/{G}@{G}/IncomingWebhook/{h32}/{G}
google chat=https://chat.google|apis.com/v1/spaces/AAAA{A7}/messages?key={W39}&token={W43}
zapier=https://hooks.zap|ier.com/hooks/catch/{D7}/{a7}
";

/// Where such a key can stand without any name that says what it is; `@` is its place.
pub(super) const ANYWHERE: &[&str] = &[
    "@",
    "see @ there",
    "it is @.",
    "(@)",
    "[@]",
    "<@>",
    "{@}",
    "`@`",
    "**@**",
    "\"@\"",
    "'@'",
    "\"@\",",
    "x=@",
    "x: @",
    "X=@;",
    "a,@,b",
    "a\t@\tb",
    "a|@|b",
    "f(\"@\")",
    "f('@', 1)",
    "<v>@</v>",
    "<a b=\"@\"/>",
    "{\"x\":\"@\"}",
    "[\"@\"]",
    "- @",
    "* @,",
    "# @",
    "// @",
    "/* @ */",
    "echo @ | pbcopy",
    "export FOO=@",
    "FOO=@ ./run",
    "--foo=@",
    "--foo @",
    "-H 'X-Foo: @'",
    "x := \"@\"",
    "x => '@'",
    "x = r\"@\"",
    "a\\n@\\nb",
    "a\\t@\\tb",
    "\\\"@\\\"",
    "\\\\\\\"@\\\\\\\"",
];
