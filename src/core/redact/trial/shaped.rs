//! Secrets that are recognized by their place, `kind=shape` with the shapes of `fill`, and places where a key
//! can be.
//!
//! A `|` is left out of the key, so that no scanner of a code host takes this file for a leak.

/// One per line.
pub(super) const SHAPED: &str = "\
cloudinary=cloudinary://{D15}:{W27}@demo
okta in header=SS|WS 00{W40}
slack webhook=https://hooks.sl|ack.com/services/T{U8}/B{U10}/{A24}
discord webhook=https://disc|ord.com/api/webhooks/{D18}/{W68}
teams webhook=https://acme.web|hook.office.com/webhookb2/{G}@{G}/IncomingWebhook/{h32}/{G}
google chat=https://chat.google|apis.com/v1/spaces/AAAA{A7}/messages?key={W39}&token={W43}
zapier=https://hooks.zap|ier.com/hooks/catch/{D7}/{a7}
";

/// Places of a key without a name that says what it is; `@` is the key.
pub(super) const ANYWHERE: &[&str] = &[
    "@", "see @ there", "it is @.", "(@)", "[@]", "<@>", "{@}", "`@`", "**@**", "\"@\"", "'@'", "\"@\",",
    "x=@", "x: @", "X=@;", "a,@,b", "a\t@\tb", "a|@|b", "f(\"@\")", "f('@', 1)", "<v>@</v>", "<a b=\"@\"/>",
    "{\"x\":\"@\"}", "[\"@\"]", "- @", "* @,", "# @", "// @", "/* @ */", "echo @ | pbcopy", "export FOO=@",
    "FOO=@ ./run", "--foo=@", "--foo @", "-H 'X-Foo: @'", "x := \"@\"", "x => '@'", "x = r\"@\"",
    "a\\n@\\nb", "a\\t@\\tb", "\\\"@\\\"", "\\\\\\\"@\\\\\\\"",
];
