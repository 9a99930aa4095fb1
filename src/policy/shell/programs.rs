//! What programs do, by their names. What is not named here is unknown, and asked for.

use crate::domain::tools::{Grade, Risk};

/// What the words after a program's name and options are to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operands {
    /// Words only.
    Words,
    /// Places that it looks at.
    Read,
    /// An expression, then places that it looks at.
    PatternThenRead,
    /// Places that it makes or changes.
    Written,
    /// The last is written, the others are looked at.
    LastWritten,
    /// Whatever they are: what looks like a path might be changed.
    Any,
}

/// A group of programs that do alike.
pub(super) struct Group {
    /// Their names, in a row.
    pub(super) names: &'static str,
    /// What they do.
    pub(super) risk: Risk,
    /// How dangerous that is by itself.
    pub(super) grade: Grade,
    /// What their operands are.
    pub(super) operands: Operands,
    /// Why they are no safer.
    pub(super) why: &'static str,
}

const fn group(names: &'static str, risk: Risk, operands: Operands) -> Group {
    Group { names, risk, grade: Grade::Safe, operands, why: "" }
}

const fn graded(names: &'static str, risk: Risk, grade: Grade, why: &'static str) -> Group {
    Group { names, risk, grade, operands: Operands::Any, why }
}

/// All that is known by name alone. Programs that need a closer look are in [`super::special`].
const GROUPS: &[Group] = &[
    group(
        "echo printf true false : date pwd whoami id groups uname hostname uptime arch nproc sleep seq yes \
         expr cal basename dirname tty locale which type whereis tr exit return break continue shift wait \
         read local let getopts declare typeset readonly export unset set shopt umask jobs dirs times caller \
         ps pgrep free lscpu lsblk lsusb lspci lsmod vmstat iostat printenv w who getconf getent tput clear \
         numfmt factor bc sum disown fg bg apropos whatis man info help mapfile readarray popd hash ulimit \
         trap test [ top logger",
        Risk::Read,
        Operands::Words,
    ),
    group(
        "ls cat tac head tail wc stat file du df tree less more nl od hexdump xxd strings cmp diff comm join \
         paste cut sort uniq column fold fmt pr rev expand unexpand md5sum sha1sum sha256sum sha512sum b2sum \
         cksum base64 base32 readlink realpath namei zcat bzcat xzcat zless zipinfo bat batcat exa eza \
         colordiff jsonlint tsort shuf look locate lsattr getfacl getfattr iconv dir vdir cloc tokei nm \
         objdump readelf size ldd exiftool identify pdftotext pdfinfo mediainfo xmllint envsubst ptx diffstat \
         dos2unix journalctl dmesg last lsof",
        Risk::Read,
        Operands::Read,
    ),
    group("grep egrep fgrep zgrep rg ag jq yq ack fd fdfind", Risk::Read, Operands::PatternThenRead),
    group(
        "mkdir touch tee mktemp mkfifo gzip gunzip bzip2 bunzip2 xz unxz zstd zip unzip 7z split csplit patch \
         convert magick ffmpeg pandoc sponge",
        Risk::Write,
        Operands::Written,
    ),
    group("cp mv ln install link", Risk::Write, Operands::LastWritten),
    group(
        "make gmake cmake ninja meson gcc g++ cc c++ clang clang++ ld as ar rustc rustfmt javac java mvn \
         gradle pytest tox ruff black mypy flake8 pylint isort eslint prettier tsc jest vitest tsx swift \
         dotnet ghc stack cabal mix phpunit composer-validate pdflatex xelatex latexmk protoc bazel just task \
         shellcheck shfmt sqlite3 hugo mkdocs sphinx-build typst configure nextest biome zig",
        Risk::Execute,
        Operands::Any,
    ),
    graded(
        "wget2 ping dig host nslookup traceroute tracepath whois http https xh aria2c yt-dlp youtube-dl lynx \
         w3m elinks links mtr ab wrk hey fetch lwp-request GET",
        Risk::Send,
        Grade::Medium,
        NETWORK,
    ),
    graded(
        "apt apt-get aptitude dnf yum zypper pacman apk brew snap flatpak nix nix-env pipx conda mamba gem \
         bundle composer npx bunx uvx corepack rustup nvm pyenv dpkg rpm port emerge opam cpan luarocks guix \
         sdk",
        Risk::Send,
        Grade::Medium,
        INSTALLS,
    ),
    graded(
        "ssh scp sftp telnet ftp lftp rclone rcp rsh rlogin mosh sshpass ssh-copy-id mail mailx sendmail mutt \
         msmtp swaks websocat ngrok cloudflared socat nc ncat netcat s3cmd restic borg smbclient tftp nmap \
         masscan openvpn wg gsutil magic-wormhole wormhole croc transmission-cli aws gcloud az kubectl helm \
         doctl flyctl heroku vercel netlify docker podman nerdctl docker-compose gh glab psql mysql mongosh \
         redis-cli",
        Risk::Send,
        Grade::High,
        "talks to other machines or services",
    ),
    graded(
        "terraform tofu pulumi ansible ansible-playbook twine",
        Risk::Send,
        Grade::Critical,
        "changes things elsewhere for good",
    ),
    graded(
        "shutdown reboot halt poweroff init telinit kexec iptables ip6tables nft ufw firewall-cmd mount \
         umount swapon swapoff fdisk sfdisk cfdisk parted gdisk losetup cryptsetup lvremove vgremove pvremove \
         mdadm insmod rmmod modprobe depmod sysctl useradd userdel usermod groupadd groupdel groupmod adduser \
         deluser addgroup passwd chpasswd chsh chfn visudo vipw at batch atrm service chkconfig update-rc.d \
         update-alternatives grub-install update-grub efibootmgr hwclock timedatectl hostnamectl localectl su \
         login newgrp sg setcap setfacl chattr launchctl loginctl netplan ifconfig ifup ifdown route tc nmcli \
         auditctl dpkg-reconfigure sysrq wipe hdparm aa-complain apparmor_parser semanage setsebool debugfs \
         tune2fs resize2fs e2fsck fsck",
        Risk::Execute,
        Grade::Critical,
        "changes the machine itself",
    ),
    graded(
        "setenforce aa-teardown aa-disable nsenter",
        Risk::Execute,
        Grade::Refused,
        "takes away the bounds that commands run in",
    ),
    graded("blkdiscard wipefs badblocks sgdisk mke2fs mkswap mkntfs", Risk::Execute, Grade::Refused, "wipes a disk"),
    graded(
        "gdb lldb ptrace perf bpftrace tcpdump tshark wireshark frida rr",
        Risk::Execute,
        Grade::High,
        "looks into other programs or into the network",
    ),
    graded("killall pkill skill snice renice xkill fuser", Risk::Execute, Grade::High, "stops other programs"),
    graded(
        "gpg gpg2 ssh-keygen ssh-add ssh-agent pass secret-tool keyctl op bw vault age",
        Risk::Execute,
        Grade::High,
        "works with keys or passwords",
    ),
    graded(
        "history fc enable bind complete compgen coproc script expect screen tmux byobu dtach",
        Risk::Execute,
        Grade::High,
        "is made for people at a keyboard, and can run anything",
    ),
    graded("hob", Risk::Execute, Grade::High, "steers Hob itself"),
    graded("rmdir unlink", Risk::Write, Grade::Medium, "deletes something"),
    graded("truncate", Risk::Write, Grade::Medium, "empties a file"),
    graded("shred srm wipe-file", Risk::Write, Grade::High, "deletes a file for good"),
    graded(
        "vim vi nvim view ex ed emacs nano pico micro joe",
        Risk::Execute,
        Grade::Medium,
        "is an editor for people at a keyboard",
    ),
];

/// Why the network is asked for.
pub(super) const NETWORK: &str = crate::policy::shell::USES_NETWORK;
/// Why installing is asked for.
pub(super) const INSTALLS: &str = "fetches and installs software";
/// Why publishing is asked for.
pub(super) const PUBLISHES: &str = "publishes something, which cannot be taken back";

/// The group that a program is in.
pub(super) fn find(name: &str) -> Option<&'static Group> {
    GROUPS.iter().find(|group| group.names.split_whitespace().any(|known| known == name))
}

/// What a program does by the first of its own words: the programs, those words (empty: any other), and what it means.
pub(super) struct Task {
    /// The programs.
    pub(super) names: &'static [&'static str],
    /// Their first words; empty: all others.
    pub(super) verbs: &'static [&'static str],
    /// What that does.
    pub(super) risk: Risk,
    /// How dangerous it is.
    pub(super) grade: Grade,
    /// Why.
    pub(super) why: &'static str,
}

const fn task(
    names: &'static [&'static str],
    verbs: &'static [&'static str],
    risk: Risk,
    grade: Grade,
    why: &'static str,
) -> Task {
    Task { names, verbs, risk, grade, why }
}

const JS: &[&str] = &["npm", "yarn", "pnpm", "bun", "deno"];
const PIP: &[&str] = &["pip", "pip3", "uv", "poetry", "pdm"];

/// All of them; the first that fits counts.
const TASKS: &[Task] = &[
    task(&["cargo"], &["publish", "yank", "login", "logout", "owner"], Risk::Send, Grade::Critical, PUBLISHES),
    task(
        &["cargo"],
        &["install", "add", "update", "fetch", "search", "uninstall", "binstall", "info"],
        Risk::Send,
        Grade::Medium,
        INSTALLS,
    ),
    task(&["cargo"], &["clean"], Risk::Write, Grade::Medium, "deletes what was built"),
    task(
        &["cargo"],
        &["tree", "metadata", "locate-project", "pkgid", "--version", "-V", "version"],
        Risk::Read,
        Grade::Safe,
        "",
    ),
    task(&["cargo"], &[], Risk::Execute, Grade::Safe, ""),
    task(&["go"], &["get", "install", "mod"], Risk::Send, Grade::Medium, INSTALLS),
    task(&["go"], &["version", "list", "doc"], Risk::Read, Grade::Safe, ""),
    task(&["go"], &[], Risk::Execute, Grade::Safe, ""),
    task(
        JS,
        &[
            "publish",
            "unpublish",
            "deprecate",
            "login",
            "logout",
            "adduser",
            "token",
            "owner",
            "access",
            "dist-tag",
            "hook",
            "team",
        ],
        Risk::Send,
        Grade::Critical,
        PUBLISHES,
    ),
    task(
        JS,
        &["test", "t", "run", "run-script", "start", "build", "lint", "task", "fmt", "check"],
        Risk::Execute,
        Grade::Safe,
        "",
    ),
    task(JS, &["ls", "list", "--version", "-v", "root", "prefix", "bin"], Risk::Read, Grade::Safe, ""),
    task(JS, &[], Risk::Send, Grade::Medium, INSTALLS),
    task(&["uv", "poetry", "pdm", "hatch"], &["publish"], Risk::Send, Grade::Critical, PUBLISHES),
    task(PIP, &["list", "show", "freeze", "check", "--version", "-V"], Risk::Read, Grade::Safe, ""),
    task(PIP, &[], Risk::Send, Grade::Medium, INSTALLS),
    task(
        &["docker", "podman", "nerdctl"],
        &["ps", "images", "version", "info", "logs", "inspect", "stats", "top", "port", "history"],
        Risk::Execute,
        Grade::Medium,
        "asks the container service",
    ),
    task(&["docker", "podman", "nerdctl"], &["push", "login"], Risk::Send, Grade::Critical, PUBLISHES),
    task(
        &["docker", "podman", "nerdctl"],
        &["system", "volume", "swarm"],
        Risk::Send,
        Grade::Critical,
        "changes what other containers live on",
    ),
    task(
        &["gh", "glab"],
        &["release", "repo", "secret", "auth", "ssh-key", "gpg-key"],
        Risk::Send,
        Grade::Critical,
        PUBLISHES,
    ),
    task(
        &["kubectl", "helm"],
        &["delete", "drain", "apply", "uninstall", "replace"],
        Risk::Send,
        Grade::Critical,
        "changes things elsewhere for good",
    ),
    task(&["gem"], &["push", "yank"], Risk::Send, Grade::Critical, PUBLISHES),
    task(
        &["apt", "apt-get", "dnf", "yum", "apk", "brew", "aptitude"],
        &["remove", "purge", "autoremove", "erase", "del", "uninstall"],
        Risk::Execute,
        Grade::High,
        "takes software away",
    ),
    task(&["dpkg", "rpm"], &["-l", "-L", "-s", "-S", "-q", "-qa", "-ql", "-qi"], Risk::Read, Grade::Safe, ""),
    task(
        &["systemctl"],
        &["status", "show", "list-units", "list-timers", "is-active", "is-enabled", "cat", "--version"],
        Risk::Execute,
        Grade::Medium,
        "asks the system's services",
    ),
    task(&["systemctl"], &[], Risk::Execute, Grade::Critical, "changes what the system runs"),
    task(&["crontab"], &["-l"], Risk::Execute, Grade::Medium, "shows what runs by itself"),
    task(&["crontab"], &[], Risk::Execute, Grade::Critical, "changes what runs by itself"),
    task(
        &["openssl"],
        &["s_client", "s_server", "ocsp"],
        Risk::Send,
        Grade::High,
        "talks to other machines or services",
    ),
    task(&["openssl"], &["rand", "version", "dgst", "sha256", "md5", "x509", "base64"], Risk::Execute, Grade::Safe, ""),
    task(&["openssl"], &[], Risk::Execute, Grade::Medium, "works with keys or hidden text"),
    task(
        &["ip"],
        &["addr", "a", "link", "route", "r", "-br", "-4", "-6", "neigh"],
        Risk::Execute,
        Grade::Medium,
        "asks about the network",
    ),
    task(&["ip"], &[], Risk::Execute, Grade::Critical, "changes the machine itself"),
];

/// What a program does by the first of its words.
pub(super) fn task_of(name: &str, verb: &str) -> Option<&'static Task> {
    TASKS.iter().find(|task| task.names.contains(&name) && (task.verbs.is_empty() || task.verbs.contains(&verb)))
}
