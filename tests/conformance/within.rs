//! Inside other programs that give a terminal: tmux, screen, script(1), ssh. What their window shows, what
//! the program finds, and its exit code are as without hopty.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use hopty::core::terminal::Size;

use super::case::{Case, Stage, world};
use super::needs;
use super::support::world::World;

/// What is done in each of them: output in colours, a line that is read, a full-screen program where there is
/// one, a size, and the exit code in the end.
fn script() -> String {
    let pager = if needs("less").is_some() { "less lines; " } else { "" };
    format!(
        "@ sh -c 'printf \"\\033[1;31mbold red\\033[m 漢\\n\"; stty size; tput colors; read line; echo \"got \
         $line\"; {pager}exit 7'; \
         echo \"code $? \"; read line"
    )
}

fn lines(world: &World) {
    let lines: String = (1..100).map(|n| format!("line {n}\n")).collect();
    std::fs::write(world.project.join("lines"), lines).unwrap();
}

fn steps(stage: &mut Stage) {
    stage.wait_text("bold red");
    stage.outer.wait_quiet();
    stage.send("typed\r");
    if needs("less").is_some() {
        stage.wait_text("line 15");
        stage.send("G");
        stage.wait_text("(END)");
        stage.picture("the pager");
        stage.send("q");
    }
    stage.wait_text("code 7");
    stage.picture("the end");
    stage.send("\r");
}

/// A file with the line for a shell, so that it needs no quoting in the program around it.
fn run_within<'w>(world: &'w World, around: impl Fn(&Path) -> String) -> Case<'w> {
    let file = world.root.path().join("inside");
    Case::around_file(world, &file, &script(), &around(&file))
        .size(Size::cells(80, 24))
        .pictures()
        .prepare(&lines)
}

#[test]
fn tmux() {
    let Some(tmux) = needs("tmux") else { return };
    let world = world();
    let socket = world.root.path().join("tmux");
    std::fs::write(
        world.root.path().join("tmux.conf"),
        "set -g status off\nset -g default-terminal screen-256color\n",
    )
    .unwrap();
    let conf = world.root.path().join("tmux.conf");
    let line = |file: &Path| {
        format!("{tmux} -S {} -f {} new-session sh {}", socket.display(), conf.display(), file.display())
    };
    run_within(&world, line).run(steps);
}

#[test]
fn screen() {
    let Some(screen) = needs("screen") else { return };
    let mut world = world();
    let dir = world.root.path().join("screen");
    std::fs::create_dir(&dir).unwrap();
    std::fs::set_permissions(&dir, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    world.set("SCREENDIR", dir.to_str().unwrap());
    let line = |file: &Path| format!("{screen} -c /dev/null -U sh {}", file.display());
    run_within(&world, line).run(steps);
}

#[test]
fn script_1() {
    let Some(script) = needs("script") else { return };
    let world = world();
    let line = |file: &Path| format!("{script} -q -e -c 'sh {}' typescript", file.display());
    run_within(&world, line).run(steps);
}

/// A server of its own on loopback, with keys of its own.
struct Server {
    child: Child,
    port: u16,
    key: PathBuf,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// `None` where none can be started: the program is missing, or the directory that a server of root needs.
fn server(world: &World) -> Option<Server> {
    let programs = ["sshd", "ssh", "ssh-keygen"].map(needs);
    if programs.iter().any(Option::is_none) {
        return None;
    }
    if nix::unistd::geteuid().is_root() && !Path::new("/run/sshd").is_dir() {
        super::support::skip::missing("/run/sshd");
        return None;
    }
    let dir = world.root.path().join("ssh");
    std::fs::create_dir(&dir).unwrap();
    let (host, key) = (dir.join("host"), dir.join("key"));
    for path in [&host, &key] {
        let made = Command::new("ssh-keygen")
            .args(["-q", "-t", "ed25519", "-N", "", "-f"])
            .arg(path)
            .status()
            .unwrap();
        assert!(made.success());
    }
    // A port that was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let config = format!(
        "ListenAddress 127.0.0.1\nPort {port}\nHostKey {}\nAuthorizedKeysFile {}.pub\nStrictModes no\nUsePAM \
         no\n\
         PasswordAuthentication no\nPermitRootLogin yes\nPidFile none\nPrintMotd no\nPrintLastLog no\n",
        host.display(),
        key.display()
    );
    std::fs::write(dir.join("config"), config).unwrap();
    let log = std::fs::File::create(dir.join("log")).unwrap();
    let child = Command::new("/usr/sbin/sshd")
        .args(["-D", "-e", "-f"])
        .arg(dir.join("config"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .unwrap();
    let server = Server { child, port, key };
    super::support::wait_for("the server", || std::net::TcpStream::connect(("127.0.0.1", port)).ok());
    Some(server)
}

/// What is set on the other side: the world's own places.
fn settings(world: &World, names: &[&str]) -> String {
    let of = |(name, value): &(OsString, OsString)| format!("{}={}", name.display(), value.display());
    world
        .env
        .iter()
        .filter(|(name, _)| names.iter().any(|own| name == own))
        .map(of)
        .collect::<Vec<_>>()
        .join(" ")
}

/// Every verb that drives a session, from another machine, with no terminal there.
#[test]
fn verbs_over_ssh() {
    let world = world();
    let Some(server) = server(&world) else { return };
    let env = settings(&world, &["HOME", "LANG", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME"]);
    let far = |words: &str| {
        let mut ssh = Command::new("ssh");
        ssh.args(["-F", "/dev/null", "-p", &server.port.to_string(), "-i"]).arg(&server.key).args([
            "-oIdentitiesOnly=yes",
            "-oIdentityAgent=none",
            "-oStrictHostKeyChecking=no",
            "-oUserKnownHostsFile=/dev/null",
            "-oLogLevel=ERROR",
            "127.0.0.1",
        ]);
        let hopty = super::support::claude::hopty();
        let line =
            format!("cd '{}' && exec env {env} '{}' {words}", world.project.display(), hopty.display());
        let output = ssh.arg(line).stdin(Stdio::null()).output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{words}: {said} {}", String::from_utf8_lossy(&output.stderr));
        said
    };
    let json = |words: &str| serde_json::from_str::<serde_json::Value>(&far(words)).unwrap();
    assert_eq!(far("run --name far --detached -- sh -c 'echo up; exec cat'"), "far\n");
    far("wait far text=up --timeout 20s");
    assert_eq!(json("ls --json")[0]["name"], "far");
    assert_eq!(json("status far --json")["state"], "unknown");
    far("send far typed");
    far("send far --keys enter");
    far("wait far text=typed --timeout 20s");
    assert!(far("screen far").starts_with("up\n") && json("screen far --json").is_object());
    let events = far("events far");
    assert!(events.lines().count() >= 2 && events.lines().all(|line| line.starts_with('{')), "{events}");
    assert!(far("log far").contains("Started run 1") && far("why far").ends_with(".\n"));
    far("stop far");
    assert_eq!(json("ls --json").as_array().map(Vec::len), Some(0));
    world.assert_nothing_left();
}

#[test]
fn ssh() {
    let mut world = world();
    let Some(server) = server(&world) else { return };
    world.set("PATH", "/usr/local/bin:/usr/bin:/bin");
    let env = settings(&world, &["HOME", "PATH", "LANG"]);
    let line = |file: &Path| {
        format!(
            "ssh -F /dev/null -p {} -i {} -o IdentitiesOnly=yes -o IdentityAgent=none -o \
             StrictHostKeyChecking=no \
             -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -tt 127.0.0.1 \
             'cd {} && exec env {} sh {}'",
            server.port,
            server.key.display(),
            world.project.display(),
            env,
            file.display()
        )
    };
    run_within(&world, line).run(steps);
}
