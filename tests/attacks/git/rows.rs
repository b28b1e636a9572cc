//! What a work tree can do to have git run something, reach out, or never end.

/// One attack. Scripts run in the project, a repository with the committed files a, b and c; `$EVIL` is a
/// program that leaves a trace and fails, and `$ROOT` a directory outside of the project.
pub struct Row {
    /// What it is.
    pub name: &'static str,
    /// Builds it.
    pub build: &'static str,
    /// Springs it without hopty, so that a row that has become harmless is noticed; empty where nothing but a
    /// terminal or another machine would.
    pub springs: &'static str,
    /// The directory that the conversation has gone to, below the project; empty where it stayed.
    pub moved: &'static str,
    /// What the handoff must say.
    pub says: &'static str,
}

const fn row(name: &'static str, build: &'static str, springs: &'static str) -> Row {
    Row { name, build, springs, moved: "", says: ".M a" }
}

const fn moved(
    name: &'static str,
    build: &'static str,
    springs: &'static str,
    moved: &'static str,
    says: &'static str,
) -> Row {
    Row { name, build, springs, moved, says }
}

const fn hangs(name: &'static str, build: &'static str, says: &'static str) -> Row {
    let springs = "timeout -k 1 1 git status >&- 2>&-; test $? -ge 124 && \"$EVIL\"; true";
    Row { name, build, springs, moved: "", says }
}

const LATE: &str = "git did not finish in time";
/// Names a submodule's own git directory. Its configuration is the submodule's.
const SUBMODULE: &str = "git clone -q . ../s; git -c protocol.file.allow=always submodule --quiet add ../s \
                         sub; git commit -qm s; \
                         cd sub; echo '* filter=x diff=x' >.gitattributes; echo two >a; cd ..; ";
/// Leaves out a file's content, which git then fetches.
const LAZY: &str = "git config uploadpack.allowFilter true; mv .git ../g; git clone -q --no-checkout \
                    --filter=blob:none file://$ROOT/g n; \
                    mv n/.git .; rmdir n; git reset -q; ";

pub fn rows() -> Vec<Row> {
    let filters = [
        row(
            "a clean filter",
            "git config filter.x.clean \"$EVIL\"; echo '* filter=x' >.gitattributes",
            "git status",
        ),
        row(
            "a smudge filter",
            "git config filter.x.smudge \"$EVIL\"; echo '* filter=x' >.gitattributes",
            "rm b; git checkout b",
        ),
        row(
            "a filter process",
            "git config filter.x.process \"$EVIL\"; echo '* filter=x' >.gitattributes",
            "git status",
        ),
        row(
            "a filter that is required",
            "git config filter.x.clean \"$EVIL\"; git config filter.x.required true; echo '* filter=x' \
             >.gitattributes",
            "git status",
        ),
        row(
            "a filter after 2,000 others",
            "for n in $(seq 2000); do printf '[filter \"%s-%0100d\"]\\n\\tclean = cat\\n' $n 0; done \
             >>.git/config; \
             printf '[filter \"z\"]\\n\\tclean = %s\\n' \"$EVIL\" >>.git/config; echo '* filter=z' \
             >.gitattributes",
            "git status",
        ),
        row(
            "a configuration of 4 MiB",
            "printf '[filter \"z\"]\\n\\tclean = %s\\n' \"$EVIL\" >>.git/config; echo '* filter=z' \
             >.gitattributes; \
             yes '[user]name=00000000000000000000000000000000000000000000000000000000000000' | head -c \
             4194304 >>.git/config; \
             echo >>.git/config",
            "git status",
        )
        .saying("the configuration of the repository cannot be read"),
        row(
            "filters with odd names",
            "git config filter.a=b.clean \"$EVIL\"; git config 'FILTER.C D.CLEAN' \"$EVIL\"; git config \
             filter.. x; \
             printf '[filter \"e\\\\\"f]\"]\\n\\tclean = %s\\n' \"$EVIL\" >>.git/config; printf 'a \
             filter=a=b\\nb filter=e\\\\\"f]\\n' \
             >.gitattributes",
            "git status",
        ),
        row(
            "the deprecated form of a filter",
            "printf '[filter.x]\\nclean = %s\\n' \"$EVIL\" >>.git/config; echo '* filter=x' >.gitattributes",
            "git status",
        ),
        row(
            "attributes of the repository",
            "git config filter.x.clean \"$EVIL\"; echo '* filter=x' >.git/info/attributes",
            "git status",
        ),
        row(
            "attributes of a file of its own",
            "git config filter.x.clean \"$EVIL\"; echo '* filter=x' >../attr; git config core.attributesFile \
             ../attr",
            "git status",
        ),
        row(
            "a configuration that is broken",
            "git config filter.x.clean \"$EVIL\"; echo '* filter=x' >.gitattributes; echo '[' >>.git/config",
            "",
        )
        .saying("the configuration of the repository cannot be read"),
        row(
            "an included configuration",
            "printf '[filter \"x\"]\\n\\tclean = %s\\n' \"$EVIL\" >inc; git config include.path ../inc; echo \
             '* filter=x' >.gitattributes",
            "git status",
        ),
        row(
            "a configuration that is included where it fits",
            "printf '[filter \"x\"]\\n\\tclean = %s\\n' \"$EVIL\" >inc; git config includeIf.gitdir:**/.path \
             ../inc; \
             git config includeIf.onbranch:main.path ../inc; echo '* filter=x' >.gitattributes",
            "git status",
        ),
        row(
            "the configuration of a worktree",
            "git config extensions.worktreeConfig true; git config --worktree filter.x.clean \"$EVIL\"; echo \
             '* filter=x' >.gitattributes",
            "git status",
        ),
    ];
    let diffs = [
        row("an external diff", "git config diff.external \"$EVIL\"", "git diff"),
        row(
            "an external diff of a driver",
            "git config diff.x.command \"$EVIL\"; echo '* diff=x' >.gitattributes",
            "git diff",
        ),
        row(
            "a text conversion",
            "git config diff.x.textconv \"$EVIL\"; echo '* diff=x' >.gitattributes",
            "git diff",
        ),
        row(
            "a text conversion that is kept",
            "git config diff.x.textconv \"$EVIL\"; git config diff.x.cachetextconv true; echo '* diff=x' \
             >.gitattributes",
            "git diff",
        ),
        row(
            "a merge driver",
            "git config merge.x.driver \"$EVIL\"; echo '* merge=x' >.gitattributes; git add .; git commit \
             -qm m; git checkout -q -b o; \
             echo o >b; git commit -qam o; git checkout -q main; echo p >b; git commit -qam p; echo more >>a",
            "git merge o",
        ),
        row(
            "a difftool and a mergetool",
            "git config diff.tool x; git config difftool.x.cmd \"$EVIL\"; git config difftool.prompt false",
            "git difftool -y",
        ),
        row(
            "a filter of interactive diffs",
            "git config interactive.diffFilter \"$EVIL\"; git config color.ui always",
            "yes | git add -p",
        ),
    ];
    let programs = [
        row("a file monitor", "git config core.fsmonitor \"$EVIL\"", "git status"),
        row(
            "a file monitor of the second protocol",
            "git config core.fsmonitor \"$EVIL\"; git config core.fsmonitorHookVersion 2; git status >&-; rm \
             -f \"$CANARY\"",
            "git status",
        ),
        row(
            "hooks elsewhere",
            "for h in post-index-change reference-transaction post-checkout pre-commit; do cp \"$EVIL\" \
             $ROOT/$h; done; git config core.hooksPath \"$ROOT\"; \
             touch -d yesterday b",
            "git status; git checkout -q -b x",
        ),
        row(
            "hooks",
            "cp \"$EVIL\" .git/hooks/post-index-change; touch -d yesterday b",
            "git status; git diff",
        ),
        row(
            "aliases",
            "for c in status diff config version check-attr evil; do git config alias.$c \"!$EVIL\"; done",
            "git evil",
        ),
        row(
            "pagers",
            "git config core.pager \"$EVIL\"; git config pager.status \"$EVIL\"; git config pager.diff \
             \"$EVIL\"; git config pager.config true",
            "",
        ),
        row(
            "an editor",
            "git config core.editor \"$EVIL\"; git config sequence.editor \"$EVIL\"",
            "git commit --amend",
        ),
        row(
            "what asks for passwords",
            "git config core.askPass \"$EVIL\"; git config credential.helper \"!$EVIL\"",
            "printf 'protocol=https\\nhost=x\\n\\n' | git credential fill",
        ),
        row(
            "what checks signatures",
            "git config gpg.program \"$EVIL\"; git config gpg.ssh.program \"$EVIL\"; git config \
             gpg.x509.program \"$EVIL\"; \
             git config log.showSignature true; git cat-file commit HEAD >../commit; \
             sed 's/^committer.*/&\\ngpgsig -----BEGIN PGP SIGNATURE-----\\n x\\n -----END PGP \
             SIGNATURE-----/' ../commit >../signed; \
             git reset -q $(git hash-object -t commit -w ../signed)",
            "git log -1",
        ),
        row(
            "every other key that names a program",
            "for k in core.gitProxy core.sshCommand core.alternateRefsCommand uploadpack.packObjectsHook \
             receive.procReceiveRefs remote.origin.uploadpack remote.origin.vcs trailer.x.command \
             trailer.x.cmd man.x.cmd browser.x.cmd \
             help.browser web.browser mailmap.blob sendemail.smtpServer guitool.x.cmd ssh.variant \
             credential.x.helper \
             tar.x.command blame.x diff.guitool imap.tunnel instaweb.httpd fsmonitor.x maintenance.x \
             hook.x.command; do git config $k \"$EVIL\"; done; \
             git config hook.x.event post-index-change; git config gc.auto 1; git config core.untrackedCache \
             true",
            "",
        ),
    ];
    let fetches = [
        row("a remote that is fetched from when a file is missing", "", "git diff HEAD")
            .built(LAZY, "git config remote.origin.url ssh://x/y; git config core.sshCommand \"$EVIL\""),
        row("a remote with a program of its own", "", "git diff HEAD")
            .built(LAZY, "git config remote.origin.url \"ext::$EVIL\"; git config protocol.ext.allow always"),
        row("the program at the other end of a remote", "", "git diff HEAD")
            .built(LAZY, "git config remote.origin.uploadpack \"$EVIL\""),
        row("a proxy of a remote", "", "git diff HEAD")
            .built(LAZY, "git config remote.origin.url git://x/y; git config core.gitProxy \"$EVIL\""),
        row(
            "refs of other objects",
            "git clone -q . ../o; echo $ROOT/o/.git/objects >.git/objects/info/alternates; git config \
             core.alternateRefsCommand \"$EVIL\"",
            "git -C ../o commit -q --allow-empty -m 1; git fetch ../o",
        ),
    ];
    let submodules = [
        row("a submodule's file monitor", "", "git status")
            .built(SUBMODULE, "git -C sub config core.fsmonitor \"$EVIL\""),
        row("a submodule's filter", "", "git status")
            .built(SUBMODULE, "git -C sub config filter.x.clean \"$EVIL\""),
        row("a submodule's external diff", "", "git diff").built(
            SUBMODULE,
            "git -C sub config diff.external \"$EVIL\"; git config diff.submodule diff; \
                               git -C sub commit -qam 1",
        ),
        row("a submodule's text conversion", "", "git diff")
            .built(SUBMODULE, "git -C sub config diff.x.textconv \"$EVIL\"; git config diff.submodule diff"),
        row("a submodule's log", "", "git diff")
            .built(SUBMODULE, "git -C sub config core.fsmonitor \"$EVIL\"; git config diff.submodule log"),
        row("a summary of submodules", "", "git status").built(
            SUBMODULE,
            "git -C sub config core.fsmonitor \"$EVIL\"; git config \
                               status.submoduleSummary true",
        ),
        row("submodules are never ignored", "", "git status").built(
            SUBMODULE,
            "git -C sub config core.fsmonitor \"$EVIL\"; git config submodule.sub.ignore none; git config \
             diff.ignoreSubmodules none; \
             git config submodule.recurse true",
        ),
        row("an update of a submodule", "", "git submodule update --init --force")
            .built(SUBMODULE, "git config submodule.sub.update \"!$EVIL\"; git -C sub commit -qam 1"),
        row("a conversation in a submodule", "", "cd sub; git status")
            .built(
                SUBMODULE,
                "git -C sub config core.fsmonitor \"$EVIL\"; git -C sub config filter.x.clean \
                               \"$EVIL\"",
            )
            .gone("sub", ".M a"),
    ];
    let bare = "mkdir -p docs/objects docs/refs; echo 'ref: refs/heads/main' >docs/HEAD; \
                printf '[core]\\nrepositoryformatversion = 0\\nbare = false\\nworktree = .\\nfsmonitor = \
                %s\\n[filter \"x\"]\\nclean = %s\\n' \"$EVIL\" \"$EVIL\" >docs/config; ";
    let places = [
        moved(
            "a directory that looks like a bare repository",
            bare,
            "cd docs; git status",
            "docs",
            "this is a bare repository",
        ),
        moved(
            "a directory below one", bare, "cd docs/refs; git status", "docs/refs",
            "this is a bare repository",
        ),
        moved("a .git file that leads into the work tree", "", "cd in; git status", "in", "Directory: ")
            .built(
                bare,
                "git clone -q --bare . e; cp docs/config e/config; mkdir in; echo 'gitdir: ../e' \
                          >in/.git; sed -i s/worktree.*// e/config",
            ),
        moved("a linked worktree of such a one", "", "cd in; git status", "in", "Directory: ").built(
            bare,
            "git clone -q --bare . e; cp docs/config e/config; sed -i s/worktree.*// e/config; mkdir in \
             e/wt; echo 'gitdir: ../e/wt' >in/.git; \
             echo .. >e/wt/commondir; cp e/HEAD e/wt; echo $PWD/in/.git >e/wt/gitdir",
        ),
        moved(
            "a repository in the repository",
            "git init -q in; git -C in config core.fsmonitor \"$EVIL\"; \
                                                 touch in/x",
            "cd in; git status",
            "in",
            "?? x",
        ),
        row(
            "a work tree elsewhere",
            "mkdir ../e; cp a ../e; git config core.worktree $ROOT/e; git config \
                                      core.fsmonitor \"$EVIL\"",
            "git status",
        )
        .saying("names ROOT/e as its work tree"),
        row(
            "a sparse index",
            "mkdir d; touch d/x; git add d; git commit -qm d; git sparse-checkout init \
                               --cone --sparse-index; \
             git config core.fsmonitor \"$EVIL\"; git config core.sparseCheckout true",
            "git status",
        ),
        row(
            "a split index",
            "git update-index --split-index; git config splitIndex.sharedIndexExpire now; \
                              git config core.fsmonitor \"$EVIL\"",
            "git status",
        ),
    ];
    let fifo = [
        hangs("a FIFO as .gitattributes", "rm -f .gitattributes; mkfifo .gitattributes", LATE),
        hangs(
            "a FIFO as .gitattributes of a directory",
            "mkdir d; touch d/x; git add d; git commit -qm d; mkfifo d/.gitattributes; echo >>d/x",
            LATE,
        ),
        hangs("a FIFO as .gitignore", "mkfifo .gitignore", LATE),
        hangs("a FIFO as attributes", "mkfifo .git/info/attributes", LATE),
        hangs("a FIFO as excludes", "rm -f .git/info/exclude; mkfifo .git/info/exclude", LATE),
        hangs("a FIFO as core.attributesFile", "mkfifo ../f; git config core.attributesFile ../f", LATE),
        hangs("a FIFO as core.excludesFile", "mkfifo ../f; git config core.excludesFile ../f", LATE),
        hangs("a FIFO as the index", "rm .git/index; mkfifo .git/index", LATE),
        hangs("a FIFO as the configuration", "rm .git/config; mkfifo .git/config", LATE),
        hangs("a FIFO as a ref", "rm .git/refs/heads/main; mkfifo .git/refs/heads/main", LATE),
        hangs(
            "a FIFO as packed refs",
            "git pack-refs --all; rm .git/packed-refs; mkfifo .git/packed-refs",
            LATE,
        ),
        hangs("a FIFO as a list of objects elsewhere", "mkfifo .git/objects/info/alternates", LATE),
        hangs(
            "a FIFO as a configuration of a worktree",
            "git config extensions.worktreeConfig true; mkfifo .git/config.worktree",
            LATE,
        ),
        hangs("a FIFO as the head", "rm .git/HEAD; mkfifo .git/HEAD", "not a regular file"),
        row("a FIFO as an included configuration", "mkfifo f; git config include.path ../f", ""),
        row("a FIFO as an order of files", "mkfifo f; git config diff.orderFile f", ""),
        row("a FIFO as a submodule's configuration", "", "")
            .built(SUBMODULE, "rm .git/modules/sub/config; mkfifo .git/modules/sub/config")
            .saying(LATE),
        row("an index of a terabyte", "truncate -s 1T .git/index", "").saying("is unknown: git "),
    ];
    filters
        .into_iter()
        .chain(diffs)
        .chain(programs)
        .chain(fetches)
        .chain(submodules)
        .chain(places)
        .chain(fifo)
        .collect()
}

impl Row {
    const fn saying(mut self, says: &'static str) -> Self {
        self.says = says;
        self
    }

    fn built(mut self, first: &str, then: &str) -> Self {
        self.build = format!("{first}{then}").leak();
        self
    }

    const fn gone(mut self, to: &'static str, says: &'static str) -> Self {
        (self.moved, self.says) = (to, says);
        self
    }
}
