//! A stand-in for the Messages API on the loopback interface, for Claude Code without a network.
//!
//! It answers according to a [`Script`] and keeps every request, so that a test can drive the real Claude
//! Code or the stand-in agent and then check what the model received. Blocking sockets, a thread per
//! connection, at most [`MAX_CONNECTIONS`]; dropping the [`Api`] closes the port and ends every thread. It
//! does not understand requests beyond their kind: there is no model here.

use std::io::{self, BufReader, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::answer::{self, AnswerIds};
use super::http;
use super::request::{ApiRequest, AskerKind, Log};
use super::script::{Script, ScriptedReply};

/// Connections served at the same time; more are answered 503.
pub const MAX_CONNECTIONS: usize = 64;

/// A running stand-in API. The request log is reached through it ([`Log`]'s methods).
pub struct Api {
    address: SocketAddr,
    shared: Arc<ApiShared>,
    acceptor: Option<JoinHandle<()>>,
}

struct ApiShared {
    script: Script,
    log: Log,
    mark: String,
    seen: AtomicUsize,
    main_seen: AtomicUsize,
    life: Mutex<ApiConnections>,
    ended: Condvar,
}

/// What must be closed at the end.
#[derive(Default)]
struct ApiConnections {
    over: bool,
    connections: Vec<(TcpStream, JoinHandle<()>)>,
}

/// How long connecting to oneself may take.
const WAKE: Duration = Duration::from_secs(1);

impl Api {
    /// Starts a server on a free port of 127.0.0.1.
    ///
    /// # Errors
    /// When no port can be bound or reached (a loopback device that is down), or no thread can be started.
    pub fn start(script: Script) -> io::Result<Api> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let address = listener.local_addr()?;
        // A client that gets no error would wait forever for its answer.
        TcpStream::connect_timeout(&address, WAKE)
            .map_err(|e| io::Error::new(e.kind(), format!("{address} cannot be reached: {e}")))?;
        let shared = Arc::new(ApiShared {
            script,
            log: Log::default(),
            mark: format!("{:05}", address.port()),
            seen: AtomicUsize::new(0),
            main_seen: AtomicUsize::new(0),
            life: Mutex::default(),
            ended: Condvar::new(),
        });
        let for_thread = Arc::clone(&shared);
        let acceptor =
            thread::Builder::new().name("api".into()).spawn(move || accept(&listener, &for_thread))?;
        Ok(Api { address, shared, acceptor: Some(acceptor) })
    }

    /// The base address for `ANTHROPIC_BASE_URL`: `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Deref for Api {
    type Target = Log;
    fn deref(&self) -> &Log {
        &self.shared.log
    }
}

impl Drop for Api {
    fn drop(&mut self) {
        self.shared.life().over = true;
        self.shared.ended.notify_all();
        // `accept` has no timeout: another connection wakes it.
        let woken = TcpStream::connect_timeout(&self.address, WAKE).is_ok();
        if let Some(thread) = self.acceptor.take().filter(|_| woken) {
            let _ = thread.join();
        }
        let connections = std::mem::take(&mut self.shared.life().connections);
        for (stream, thread) in connections {
            let _ = stream.shutdown(Shutdown::Both);
            let _ = thread.join();
        }
    }
}

impl ApiShared {
    fn life(&self) -> MutexGuard<'_, ApiConnections> {
        self.life.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits `ms` milliseconds, or until the server ends; returns false in that case.
    fn pause(&self, ms: u64) -> bool {
        let until = Instant::now() + Duration::from_millis(ms);
        let mut life = self.life();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if life.over || left.is_zero() {
                return !life.over;
            }
            life = self.ended.wait_timeout(life, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<ApiShared>) {
    for stream in listener.incoming() {
        let mut life = shared.life();
        if life.over {
            return;
        }
        let Ok(stream) = stream else { continue };
        life.connections.retain(|(_, thread)| !thread.is_finished());
        if life.connections.len() >= MAX_CONNECTIONS {
            let mut stream = stream;
            let _ = http::write_answer(&mut stream, 503, "text/plain", &[], b"too many connections");
            continue;
        }
        let Ok(copy) = stream.try_clone() else { continue };
        let for_thread = Arc::clone(shared);
        let spawned =
            thread::Builder::new().name("api-connection".into()).spawn(move || serve(stream, &for_thread));
        if let Ok(thread) = spawned {
            life.connections.push((copy, thread));
        }
    }
}

/// Answers requests on one connection until either side closes it.
fn serve(stream: TcpStream, shared: &ApiShared) {
    let _ = stream.set_nodelay(true);
    let Ok(mut output) = stream.try_clone() else { return };
    let mut input = BufReader::new(stream);
    while let Ok(Some(head)) = http::read_head(&mut input) {
        let Ok(body) = http::read_body(&mut input, &head) else { break };
        let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
        let (method, target, closes) = (head.word(0).to_owned(), head.word(1).to_owned(), head.closes());
        let request = Arc::new(ApiRequest::new(&method, &target, head.headers, body));
        let stamp =
            AnswerIds { server: shared.mark.clone(), request: shared.seen.fetch_add(1, Ordering::SeqCst) };
        // Chosen before the request is logged: whoever waits for the request may then change what the
        // script reads.
        let answered = match choose(&request, shared) {
            Some(reply) => {
                shared.log.push(Arc::clone(&request));
                send(&mut output, &request, &reply, &stamp, shared)
            }
            None => {
                shared.log.push(Arc::clone(&request));
                send_other(&mut output, &request)
            }
        };
        if answered.is_err() || closes {
            break;
        }
    }
    let _ = input.get_ref().shutdown(Shutdown::Both);
}

/// The reply to a request of the Messages API; `None` for any other request.
fn choose(request: &ApiRequest, shared: &ApiShared) -> Option<ScriptedReply> {
    match request.kind {
        AskerKind::Main => {
            let n = shared.main_seen.fetch_add(1, Ordering::SeqCst);
            Some(shared.script.reply(request, n))
        }
        AskerKind::Subagent => Some(shared.script.subagent()),
        AskerKind::Compact => Some(ScriptedReply::text(
            "<analysis>short</analysis>\n<summary>\nA summary of the work so far.\n</summary>",
        )),
        // Title requests name a JSON schema; other helpers read plain text and accept this as well.
        AskerKind::Auxiliary => Some(ScriptedReply::text(r#"{"title": "Scripted session"}"#)),
        AskerKind::CountTokens | AskerKind::Other => None,
    }
}

fn send(
    output: &mut TcpStream,
    request: &ApiRequest,
    reply: &ScriptedReply,
    stamp: &AnswerIds,
    shared: &ApiShared,
) -> io::Result<()> {
    let going_on = |goes_on: bool| if goes_on { Ok(()) } else { Err(io::Error::other("the server ends")) };
    going_on(shared.pause(reply.delay_ms))?;
    let mut headers = reply.headers.clone();
    headers.push(("request-id".into(), stamp.request_id()));
    if let Some(error) = &reply.error {
        let body = answer::error(&error.kind, &error.message, stamp).to_string();
        return http::write_answer(output, error.status, "application/json", &headers, body.as_bytes());
    }
    if !request.wants_stream() {
        let body = answer::message(reply, request.model(), stamp).to_string();
        return http::write_answer(output, 200, "application/json", &headers, body.as_bytes());
    }
    http::write_chunked_head(output, 200, "text/event-stream; charset=utf-8", &headers)?;
    let mut joined = Vec::new();
    for event in answer::events(reply, request.model(), stamp) {
        if event.wait_ms > 0 {
            http::write_chunk(output, &std::mem::take(&mut joined)).and_then(|()| output.flush())?;
            going_on(shared.pause(event.wait_ms))?;
        }
        joined.extend_from_slice(&event.bytes);
    }
    http::write_chunk(output, &joined)?;
    http::write_chunk(output, b"")
}

/// Answers token counts, the start-up probe of `/`, and any other request.
fn send_other(output: &mut TcpStream, request: &ApiRequest) -> io::Result<()> {
    let path = request.target.split('?').next().unwrap_or("");
    let (status, body) = match (request.kind, path) {
        (AskerKind::CountTokens, _) => (200, json!({"input_tokens": request.body.to_string().len() / 4})),
        (_, "/") => (200, json!({})),
        _ => (
            404,
            json!({"type": "error", "error": {"type": "not_found_error",
                "message": "not part of the stand-in"}}),
        ),
    };
    let body = if request.method == "HEAD" { String::new() } else { body.to_string() };
    http::write_answer(output, status, "application/json", &[], body.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    fn ask(api: &Api, target: &str, body: &Value) -> String {
        let mut stream = TcpStream::connect(api.address).unwrap();
        let body = body.to_string();
        write!(
            stream,
            "POST {target} HTTP/1.1\r\nconnection: close\r\nx-claude-code-session-id: u1\r\ncontent-length: \
             {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn only_main_requests_use_up_the_script() {
        let api = Api::start(Script::list([ScriptedReply::bash("ls"), ScriptedReply::text("end")])).unwrap();
        let main = json!({"model": "m", "stream": true, "tools": [{}], "messages": [{"role": "user",
            "content": "x"}]});
        let title = json!({"model": "m", "messages": [{"role": "user", "content": "title?"}]});
        assert!(ask(&api, "/v1/messages", &title).contains("Scripted session"));
        assert!(ask(&api, "/v1/messages?beta=true", &main).contains("tool_use"));
        assert!(ask(&api, "/v1/messages?beta=true", &main).contains("end_turn"));
        assert_eq!((api.requests().len(), api.main_requests().len(), api.requests_of("u1").len()), (3, 2, 2));
    }

    #[test]
    fn errors_and_unknown_paths_are_answered() {
        let reply = ScriptedReply::error(529, "overloaded_error", "busy").with_header("retry-after", "1");
        let api = Api::start(Script::list([reply])).unwrap();
        let answer = ask(&api, "/v1/messages", &json!({"tools": [{}]}));
        assert!(
            answer.starts_with("HTTP/1.1 529")
                && answer.contains("retry-after: 1")
                && answer.contains("overloaded_error")
        );
        assert!(ask(&api, "/api/hello", &json!({})).starts_with("HTTP/1.1 404"));
        assert!(ask(&api, "/v1/messages/count_tokens", &json!({})).contains("input_tokens"));
    }

    #[test]
    fn dropping_it_ends_waiting_answers_and_closes_the_port() {
        let api = Api::start(Script::each(|_, _| ScriptedReply::text("late").after_ms(600_000))).unwrap();
        let address = api.address;
        let client = thread::spawn(move || {
            let mut stream = TcpStream::connect(address).unwrap();
            stream
                .write_all(b"POST /v1/messages HTTP/1.1\r\ncontent-length: 14\r\n\r\n{\"tools\":[{}]}")
                .unwrap();
            let mut answer = Vec::new();
            let _ = stream.read_to_end(&mut answer);
            answer
        });
        assert!(api.wait_for_main(1, Duration::from_secs(20)));
        drop(api);
        assert!(client.join().unwrap().is_empty());
        assert!(TcpStream::connect(address).is_err());
    }
}
