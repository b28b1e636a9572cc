//! `Claude`, `Model` and `Expect+Hook`.

use super::command::{HookCommand, ModelError, ModelReply, ModelToolCall, ModelToolInput, TapeCommand};
use super::own_commands::{need_name, need_number, optional_number, parse_number, texts, unknown_option};
use super::tape_args::{ArgResult, ArgWord, TapeArgs, parse_time};
use super::tape_problem::printable;
use super::tape_time::TapeTime;

pub(super) fn claude(args: &mut TapeArgs<'_>) -> ArgResult<TapeCommand> {
    let (mut stand_in, mut hopty) = (false, false);
    while let Some(suffix) = args.suffix()? {
        match suffix {
            "StandIn" if !stand_in => stand_in = true,
            "Hopty" if !hopty => hopty = true,
            _ => return Err(args.suffix_error(suffix, "`Claude+` is followed by StandIn or Hopty")),
        }
    }
    Ok(TapeCommand::Claude { stand_in, hopty, arguments: texts(args)? })
}

pub(super) fn model(args: &mut TapeArgs<'_>) -> ArgResult<ModelReply> {
    let mut reply = ModelReply::default();
    while let Some(word) = args.word()? {
        match word.as_str() {
            "text" => reply.text = Some(args.text("a text", false)?),
            "Bash" => {
                let command = args.text("a command in quotes", false)?;
                reply
                    .tools
                    .push(ModelToolCall { name: "Bash".to_owned(), input: ModelToolInput::Command(command) });
            }
            "tool" => {
                let name = need_name(args, "the name of a tool")?;
                let input = args.json()?;
                if !input.is_object() {
                    return Err(word
                        .error("a tool is given a JSON object")
                        .hint("for example {\"file_path\":\"a.txt\"}"));
                }
                reply.tools.push(ModelToolCall { name, input: ModelToolInput::Json(input) });
            }
            "error" => {
                let status = need_number(args, "a status of HTTP", 400, 599)? as u16;
                let kind = need_name(args, "a type such as overloaded_error")?;
                reply.error = Some(ModelError { status, kind, message: args.text("a message", false)? });
            }
            "header" => {
                let name = need_name(args, "the name of a header field")?;
                reply.headers.push((name, args.text("the value of the field", false)?));
            }
            _ => model_option(&word, &mut reply)?,
        }
    }
    if reply.text.is_none() && reply.tools.is_empty() && reply.error.is_none() {
        let error = args.missing("text \"…\", Bash \"…\", tool NAME {…} or error STATUS TYPE \"…\"");
        return Err(error.hint("for example Model text \"done\""));
    }
    if reply.error.is_some() && (reply.text.is_some() || !reply.tools.is_empty()) {
        return Err(args.missing("an error alone, without text and tools"));
    }
    Ok(reply)
}

fn model_option(word: &ArgWord, reply: &mut ModelReply) -> ArgResult<()> {
    let Some((name, value)) = word.text.split_at_equals() else {
        return Err(unknown_option(
            word,
            "Model",
            &["text", "Bash", "tool", "error", "header", "tokens=", "after=", "over="],
        ));
    };
    let time = || {
        parse_time(value.as_str())
            .ok_or_else(|| word.error(format!("`{}` is not a time", printable(value.as_str()))))
    };
    match name {
        "tokens" => {
            let tokens = parse_number(value.as_str());
            reply.tokens = Some(tokens.ok_or_else(|| word.error("`tokens=` needs a number of tokens"))?);
        }
        "after" => reply.after = Some(time()?),
        "over" => reply.over = Some(time()?),
        _ => return Err(unknown_option(word, "Model", &["tokens=", "after=", "over="])),
    }
    Ok(())
}

pub(super) fn expect_hook(args: &mut TapeArgs<'_>, limit: Option<TapeTime>) -> ArgResult<TapeCommand> {
    let number = optional_number(args, "a call")?;
    let event = need_name(args, "an event such as PreToolUse")?;
    let mut hook = HookCommand { limit, number, event, exit: None, pattern: None, payload: Vec::new() };
    loop {
        if args.has_pattern() {
            if hook.pattern.is_some() {
                return Err(args.missing("one pattern only"));
            }
            hook.pattern = Some(args.pattern()?);
            continue;
        }
        let Some(word) = args.word()? else { break };
        match word.text.split_at_equals() {
            Some(("exit", value)) => {
                let code = parse_number::<i32>(value.as_str()).filter(|code| (0..=255).contains(code));
                let error = || word.error("`exit=` needs a number from 0 to 255");
                hook.exit = Some(code.ok_or_else(error)?);
            }
            Some((path, value)) if path.strip_prefix("payload.").is_some_and(|path| !path.is_empty()) => {
                hook.payload.push((path["payload.".len()..].to_owned(), value));
            }
            _ => return Err(unknown_option(&word, "Expect+Hook", &["exit=", "payload.tool_name="])),
        }
    }
    Ok(TapeCommand::ExpectHook(hook))
}
