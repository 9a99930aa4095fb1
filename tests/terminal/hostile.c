// Tries to get out, to do harm, or to leave something behind. Each try is a process of its own; it says by its exit code whether
// it succeeded. What is printed is what succeeded, and how much was tried.
//
// hostile SECRET UPPER SOCKET DATAGRAMS ABSTRACT PORT PID    everything below
// hostile fill                                                fills the folder it is in with what is hard to delete
#define _GNU_SOURCE
#include <dirent.h>
#include <grp.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/openat2.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

static const char *secret, *upper, *sock, *datagrams, *abstracted;
static int port, host;
static int tries, succeeded;

static int begin(void) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGXFSZ, SIG_IGN);
        alarm(5);
        return 1;
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    tries++;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 1) succeeded++;
    return 0;
}
// A try: the expression is true if it succeeded.
#define TRY(name, what, expression)                                                                       \
    do {                                                                                                  \
        if (begin()) {                                                                                    \
            int done = (expression);                                                                      \
            if (done) { printf("succeeded: %s %s\n", name, what); fflush(stdout); }                       \
            _exit(done ? 1 : 0);                                                                          \
        }                                                                                                 \
    } while (0)
#define OK(call) ((call) >= 0)

static int opens(const char *path, int flags) { return open(path, flags | O_NONBLOCK, 0600) >= 0; }
static int writes(const char *path) {
    int fd = open(path, O_WRONLY);
    return fd >= 0 && write(fd, "1", 1) == 1;
}
static int reads(const char *path) {
    char buffer[64];
    int fd = open(path, O_RDONLY | O_NONBLOCK);
    return fd >= 0 && read(fd, buffer, sizeof buffer) > 0;
}
static int opens2(const char *path) {
    struct open_how how = {.flags = O_RDONLY};
    return OK(syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how));
}
static int handled(const char *path) {
    struct { struct file_handle h; char more[128]; } handle = {.h = {.handle_bytes = 128}};
    int mount;
    return OK(name_to_handle_at(AT_FDCWD, path, &handle.h, &mount, 0));
}
static int linked(const char *path) {
    unlink("linked");
    return symlink(path, "linked") == 0 && opens("linked", O_RDONLY);
}
static int made(const char *path, const char *name, int kind) {
    char at[4096];
    snprintf(at, sizeof at, "%s/%s", path, name);
    if (kind == 0) return OK(open(at, O_CREAT | O_WRONLY, 0600));
    if (kind == 1) return OK(mkdir(at, 0700));
    if (kind == 2) return OK(mkfifo(at, 0600));
    return OK(symlink("x", at));
}
static int bound(const char *path) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair)) return 0;
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    strncpy(to.sun_path, path, sizeof to.sun_path - 1);
    return connect(pair[0], (void *)&to, sizeof to) == 0 || bind(pair[1], (void *)&to, sizeof to) == 0;
}

// What must not be there at all.
static void hidden(const char *what, const char *path) {
    struct stat about;
    struct statx more;
    struct statfs system;
    char buffer[256];
    TRY("open", what, opens(path, O_RDONLY));
    TRY("open to write", what, opens(path, O_WRONLY));
    TRY("open as a path", what, opens(path, O_PATH));
    TRY("openat2", what, opens2(path));
    TRY("stat", what, OK(stat(path, &about)));
    TRY("lstat", what, OK(lstat(path, &about)));
    TRY("statx", what, OK(statx(AT_FDCWD, path, 0, STATX_ALL, &more)));
    TRY("statfs", what, OK(statfs(path, &system)));
    TRY("access", what, OK(access(path, F_OK)));
    TRY("faccessat2", what, OK(syscall(SYS_faccessat2, AT_FDCWD, path, F_OK, 0)));
    TRY("readlink", what, OK(readlink(path, buffer, sizeof buffer)) || errno == EINVAL);
    TRY("getxattr", what, OK(getxattr(path, "user.a", buffer, sizeof buffer)) || errno == ENODATA);
    TRY("listxattr", what, OK(listxattr(path, buffer, sizeof buffer)));
    TRY("setxattr", what, OK(setxattr(path, "user.a", "b", 1, 0)));
    TRY("chdir", what, OK(chdir(path)) || errno == ENOTDIR);
    TRY("chmod", what, OK(chmod(path, 0777)));
    TRY("chown", what, OK(lchown(path, getuid(), getgid())));
    TRY("utimensat", what, OK(utimensat(AT_FDCWD, path, NULL, 0)));
    TRY("truncate", what, OK(truncate(path, 0)));
    TRY("unlink", what, OK(unlink(path)));
    TRY("rename out", what, OK(rename(path, "mine")));
    TRY("exchange", what, (close(open("own", O_CREAT | O_WRONLY, 0600)), OK(syscall(SYS_renameat2, AT_FDCWD, path, AT_FDCWD, "own", 2))));
    TRY("rename over", what, (close(open("own", O_CREAT | O_WRONLY, 0600)), OK(rename("own", path))));
    TRY("link", what, OK(link(path, "mine")));
    TRY("symlink to", what, linked(path));
    TRY("create in", what, made(path, "new", 0));
    TRY("mkdir in", what, made(path, "new", 1));
    TRY("mkfifo in", what, made(path, "new", 2));
    TRY("inotify", what, OK(inotify_add_watch(inotify_init1(0), path, IN_ALL_EVENTS)));
    TRY("handle of", what, handled(path));
    TRY("execve", what, (execl(path, path, NULL), errno == EACCES || errno == ENOEXEC));
    TRY("open_tree", what, OK(syscall(SYS_open_tree, AT_FDCWD, path, 0)));
    TRY("socket at", what, bound(path));
}

// What may be read, and never changed.
static void untouched(const char *path) {
    TRY("open to write", path, opens(path, O_WRONLY));
    TRY("truncate", path, OK(truncate(path, 0)));
    TRY("chmod", path, OK(chmod(path, 0777)));
    TRY("chown", path, OK(lchown(path, getuid(), getgid())));
    TRY("utimensat", path, OK(utimensat(AT_FDCWD, path, NULL, 0)));
    TRY("unlink", path, OK(unlink(path)));
    TRY("rename", path, OK(rename(path, "mine")));
    TRY("link", path, OK(link(path, "mine")));
    TRY("setxattr", path, OK(setxattr(path, "user.a", "b", 1, 0)));
    TRY("mount over", path, OK(mount("none", path, "tmpfs", 0, NULL)));
}

static int makes_setid(int way) {
    static const mode_t modes[] = {04755, 02755, 06755};
    struct stat about;
    for (int i = 0; i < 3; i++) {
        mode_t mode = modes[i];
        unlink("set"), rmdir("set");
        umask(0);
        int fd = way < 5 ? open("set", O_CREAT | O_RDWR, 0755) : -1;
        switch (way) {
        case 0: chmod("set", mode); break;
        case 1: fchmod(fd, mode); break;
        case 2: syscall(SYS_fchmodat, AT_FDCWD, "set", mode); break;
        case 3: syscall(452, AT_FDCWD, "set", mode, 0); break;
        case 4: syscall(452, fd, "", mode, AT_EMPTY_PATH); break;
        case 5: open("set", O_CREAT | O_RDWR, mode); break;
        case 6: creat("set", mode); break;
        case 7: mknod("set", S_IFREG | mode, 0); break;
        case 8: mkdir("set", mode); break;
        case 9: {
            int tmp = open(".", O_TMPFILE | O_RDWR, mode);
            if (tmp >= 0 && fstat(tmp, &about) == 0 && about.st_mode & 06000) return 1;
            break;
        }
        case 10: {
            struct open_how how = {.flags = O_CREAT | O_RDWR, .mode = mode};
            syscall(SYS_openat2, AT_FDCWD, "set", &how, sizeof how);
            break;
        }
        case 11: mkfifo("set", mode); break;
#ifdef __x86_64__
        case 12: syscall(0x40000000 | SYS_chmod, "set", mode); break;
        case 13: {
            char *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
            long result;
            close(open("set", O_CREAT | O_RDWR, 0755));
            strcpy(low, "set");
            __asm__ volatile("int $0x80" : "=a"(result) : "a"(15L), "b"(low), "c"((long)mode) : "memory");
            break;
        }
#endif
        }
        if (stat("set", &about) == 0 && about.st_mode & 06000) return 1;
    }
    return 0;
}

static int setid_by_xattr(void) {
    // A program's capabilities, as the file system keeps them.
    static const unsigned char all[20] = {1, 0, 0, 2, 255, 255, 255, 255};
    close(open("capable", O_CREAT | O_WRONLY, 0700));
    return OK(setxattr("capable", "security.capability", all, sizeof all, 0));
}

static int pairs(int family, int type) {
    int pair[2];
    return socketpair(family, type, 0, pair) == 0;
}
static int sends(const char *to) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair)) return 0;
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    strncpy(at.sun_path, to, sizeof at.sun_path - 1);
    return sendto(pair[0], "x", 1, 0, (void *)&at, sizeof at) == 1;
}
static int calls(const char *name, int abstract) {
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    strncpy(at.sun_path + abstract, name, sizeof at.sun_path - 2);
    return connect(fd, (void *)&at, offsetof(struct sockaddr_un, sun_path) + abstract + strlen(name)) == 0;
}
static int calls_port(void) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    return connect(socket(AF_INET, SOCK_STREAM, 0), (void *)&at, sizeof at) == 0;
}

static int leads_out(int pid, const char *where) {
    char path[256];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, where);
    return opens(path, O_RDONLY);
}
static int tells(const char *what) {
    char path[256];
    snprintf(path, sizeof path, "/proc/1/%s", what);
    return reads(path);
}
static int steals(int number) {
    int fd = syscall(SYS_pidfd_open, 1, 0);
    return OK(syscall(SYS_pidfd_getfd, fd, number, 0));
}
static int peeks(int call) {
    char buffer[8];
    struct iovec mine = {buffer, 8}, theirs = {(void *)0x400000, 8};
    return OK(syscall(call, 1, &mine, 1, &theirs, 1, 0));
}

static int raises(void) {
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct all[2] = {{~0u, ~0u, ~0u}, {~0u, ~0u, ~0u}};
    return OK(syscall(SYS_capset, &head, all));
}
static int has_any(void) {
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct all[2] = {0};
    if (syscall(SYS_capget, &head, all)) return 0;
    return (all[0].effective | all[1].effective | all[0].permitted | all[1].permitted) != 0;
}
static int separates(unsigned long flag) {
    pid_t child = syscall(SYS_clone, flag | SIGCHLD, 0, 0, 0, 0);
    if (child == 0) _exit(0);
    return child > 0;
}
static int grows(off_t size) {
    int fd = open("sparse", O_CREAT | O_RDWR, 0600);
    return OK(ftruncate(fd, size)) || OK(posix_fallocate(fd, 0, size) ? -1 : 0);
}
static int fills_memory(size_t size) {
    char *all = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return all != MAP_FAILED;
}
static int multiplies(int most) {
    int made = 0;
    while (made < most) {
        pid_t child = fork();
        if (child == 0) { alarm(3); pause(); _exit(0); }
        if (child < 0) break;
        made++;
    }
    return made >= most;
}
static int types(unsigned long request) {
    char c = 'x';
    for (int fd = 0; fd < 3; fd++) if (OK(ioctl(fd, request, &c))) return 1;
    return 0;
}
static int climbs(void) {
    int root = open("/", O_PATH | O_DIRECTORY);
    for (int i = 0; i < 64; i++) root = openat(root, "..", O_PATH | O_DIRECTORY);
    return OK(openat(root, secret + 1, O_RDONLY)) || OK(openat(root, "former/etc/shadow", O_RDONLY));
}
static int has_strays(void) {
    for (int fd = 3; fd < 1024; fd++) if (fcntl(fd, F_GETFD) >= 0) return 1;
    return 0;
}
static int kernel_device(int kind) { return OK(mknod("device", kind | 0600, 0x0801)); }

static void processes(void) {
    static const char *of_first[] = {"mem", "root/etc/shadow", "root/", "cwd/", "exe", "environ", "maps", "fd/0", "fd/1", "fd/2", "fd/3", "fd/4", "fd/5", "fd/6", "ns/mnt"};
    for (size_t i = 0; i < sizeof of_first / sizeof *of_first; i++) TRY("/proc/1", of_first[i], leads_out(1, of_first[i]));
    static const char *says[] = {"environ", "auxv", "stack", "syscall", "pagemap", "personality", "timerslack_ns", "io"};
    for (size_t i = 0; i < sizeof says / sizeof *says; i++) TRY("read /proc/1", says[i], tells(says[i]));
    TRY("host's", "status", leads_out(host, "status"));
    TRY("host's", "environ", leads_out(host, "environ"));
    TRY("kill", "host", OK(kill(host, 0)));
    TRY("ptrace", "seize", OK(ptrace(PTRACE_SEIZE, 1, 0, 0)));
    TRY("ptrace", "attach", OK(ptrace(PTRACE_ATTACH, 1, 0, 0)));
    TRY("ptrace", "itself", OK(ptrace(PTRACE_TRACEME, 0, 0, 0)));
    TRY("process_vm_readv", "", peeks(SYS_process_vm_readv));
    TRY("process_vm_writev", "", peeks(SYS_process_vm_writev));
    for (int number = 0; number < 8; number++) TRY("pidfd_getfd", "", steals(number));
    TRY("kcmp", "", OK(syscall(SYS_kcmp, 1, getpid(), 0, 0, 0)));
    TRY("process_madvise", "", OK(syscall(SYS_process_madvise, syscall(SYS_pidfd_open, 1, 0), NULL, 0, 21, 0)));
    TRY("prlimit", "of the first", ({ struct rlimit all = {1, 1}; OK(syscall(SYS_prlimit64, 1, RLIMIT_NOFILE, &all, NULL)); }));
    TRY("stray files", "", has_strays());
    TRY("setns", "", OK(setns(open("/proc/self/ns/mnt", O_RDONLY), 0)));
    static const char *switches[] = {"/proc/sysrq-trigger", "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sys/kernel/hostname", "/proc/sys/kernel/pid_max", "/proc/sys/vm/drop_caches", "/proc/sys/kernel/ns_last_pid", "/proc/sys/fs/binfmt_misc/register", "/proc/self/uid_map", "/proc/self/oom_score_adj", "/proc/self/coredump_filter", "/proc/self/attr/current", "/proc/self/loginuid", "/proc/acpi/wakeup", "/proc/irq/default_smp_affinity", "/sys/power/state", "/sys/kernel/uevent_helper", "/sys/fs/cgroup/cgroup.procs", "/sys/devices/system/cpu/cpu0/online"};
    for (size_t i = 0; i < sizeof switches / sizeof *switches; i++) TRY("write", switches[i], writes(switches[i]));
    static const char *secrets[] = {"/proc/kcore", "/proc/kmsg", "/proc/vmallocinfo", "/proc/kpageflags", "/proc/slabinfo", "/proc/1/root/../etc/shadow", "/proc/self/root/former/etc/shadow", "/proc/self/cwd/../../hob.db", "/proc/thread-self/root/etc/shadow", "/former/etc/shadow", "/sys/kernel/debug/x", "/sys/firmware/acpi/tables/DSDT"};
    for (size_t i = 0; i < sizeof secrets / sizeof *secrets; i++) TRY("read", secrets[i], reads(secrets[i]));
}

static void kernel(void) {
    TRY("mount", "tmpfs", OK(mount("none", ".", "tmpfs", 0, NULL)));
    TRY("mount", "proc", OK(mount("none", ".", "proc", 0, NULL)));
    TRY("mount", "overlay", OK(mount("none", ".", "overlay", 0, "lowerdir=/usr:/etc")));
    TRY("mount", "bind", OK(mount("/usr", ".", NULL, MS_BIND, NULL)));
    TRY("mount", "writable", OK(mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL)));
    TRY("mount", "writable /usr", OK(mount(NULL, "/usr", NULL, MS_REMOUNT | MS_BIND, NULL)));
    TRY("umount", "/tmp", OK(umount2("/tmp", MNT_DETACH)));
    TRY("umount", "/usr", OK(umount2("/usr", MNT_DETACH)));
    TRY("umount", "/proc", OK(umount2("/proc", MNT_DETACH)));
    TRY("pivot_root", "", OK(syscall(SYS_pivot_root, ".", ".")));
    TRY("chroot", "", OK(chroot(".")));
    TRY("climb", "", climbs());
    TRY("fsopen", "", OK(syscall(SYS_fsopen, "tmpfs", 0)));
    TRY("fsconfig", "", OK(syscall(SYS_fsconfig, 0, 6, NULL, NULL, 0)));
    TRY("fsmount", "", OK(syscall(SYS_fsmount, 0, 0, 0)));
    TRY("fspick", "", OK(syscall(SYS_fspick, AT_FDCWD, "/", 0)));
    TRY("open_tree", "", OK(syscall(SYS_open_tree, AT_FDCWD, "/", 1)));
    TRY("open_tree_attr", "", OK(syscall(467, AT_FDCWD, "/", 0, NULL, 0)));
    TRY("move_mount", "", OK(syscall(SYS_move_mount, AT_FDCWD, "/usr", AT_FDCWD, ".", 0)));
    TRY("mount_setattr", "", ({ uint64_t attr[4] = {0, 1, 0, 0}; OK(syscall(442, AT_FDCWD, "/usr", 0, attr, sizeof attr)); }));
    static const unsigned long spaces[] = {CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWIPC, CLONE_NEWUTS, CLONE_NEWCGROUP, 0x80};
    for (int i = 0; i < 8; i++) {
        TRY("unshare", "", OK(unshare(spaces[i])));
        if (spaces[i] != 0x80) TRY("clone", "", separates(spaces[i]));
    }
    TRY("clone3", "", ({ uint64_t how[11] = {CLONE_NEWUSER}; how[4] = SIGCHLD; long child = syscall(SYS_clone3, how, 64); if (child == 0) _exit(0); child > 0; }));
    TRY("add_key", "", OK(syscall(SYS_add_key, "user", "a", "b", 1, -3)));
    TRY("keyctl", "", OK(syscall(SYS_keyctl, 0, -3, 1)));
    TRY("request_key", "", OK(syscall(SYS_request_key, "user", "a", NULL, -3)));
    TRY("bpf", "", ({ char attr[128] = {1, 0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 1}; OK(syscall(SYS_bpf, 0, attr, sizeof attr)); }));
    TRY("perf_event_open", "", ({ char attr[128] = {1}; attr[4] = 112; OK(syscall(SYS_perf_event_open, attr, 0, -1, -1, 0)); }));
    TRY("userfaultfd", "", OK(syscall(SYS_userfaultfd, 1)));
    TRY("io_uring", "", ({ char parameters[256] = {0}; OK(syscall(SYS_io_uring_setup, 8, parameters)); }));
    TRY("io_uring_register", "", OK(syscall(SYS_io_uring_register, 0, 0, NULL, 0)));
    TRY("kexec", "", OK(syscall(SYS_kexec_load, 0, 0, NULL, 0)));
    TRY("init_module", "", OK(syscall(SYS_init_module, "", 0, "")));
    TRY("delete_module", "", OK(syscall(SYS_delete_module, "x", 0)));
    TRY("swapon", "", OK(syscall(SYS_swapon, "own", 0)));
    TRY("acct", "", OK(syscall(SYS_acct, "own")));
    TRY("quotactl", "", OK(syscall(SYS_quotactl, 0, "/dev/vda", 0, NULL)));
    TRY("settimeofday", "", ({ struct timeval now; gettimeofday(&now, NULL); OK(settimeofday(&now, NULL)); }));
    TRY("adjtimex", "", ({ struct timex how = {.modes = ADJ_OFFSET}; OK(adjtimex(&how)); }));
    TRY("syslog", "", ({ char text[64]; OK(syscall(SYS_syslog, 3, text, 64)); }));
    TRY("sethostname", "", OK(sethostname("x", 1)));
    TRY("setdomainname", "", OK(setdomainname("x", 1)));
    TRY("vhangup", "", OK(vhangup()));
    TRY("open_by_handle_at", "", ({ struct { struct file_handle h; char more[128]; } handle = {.h = {.handle_bytes = 8, .handle_type = 1}}; OK(syscall(SYS_open_by_handle_at, AT_FDCWD, &handle, O_RDONLY)); }));
    TRY("fanotify", "", OK(fanotify_init(FAN_CLASS_CONTENT, O_RDONLY)));
#ifdef __x86_64__
    TRY("iopl", "", OK(syscall(SYS_iopl, 3)));
    TRY("ioperm", "", OK(syscall(SYS_ioperm, 0x80, 1, 1)));
#endif
    TRY("TIOCSTI", "", types(TIOCSTI));
    TRY("TIOCLINUX", "", types(TIOCLINUX));
    static const char *devices[] = {"tty", "console", "mem", "kmem", "port", "kmsg", "vda", "sda", "nvme0n1", "loop0", "loop-control", "fuse", "kvm", "net/tun", "pts/0", "ptmx", "input/event0", "dri/card0", "rtc0", "watchdog", "uinput", "vhost-vsock", "vsock", "mapper/control", "userfaultfd", "mqueue/x", "hpet", "cpu_dma_latency", "ppp", "btrfs-control"};
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        char path[64];
        snprintf(path, sizeof path, "/dev/%s", devices[i]);
        TRY("device", devices[i], opens(path, O_RDONLY) || opens(path, O_WRONLY));
    }
    TRY("mknod", "block", kernel_device(S_IFBLK));
    TRY("mknod", "char", kernel_device(S_IFCHR));
}

static void rights(void) {
    char way[16];
    for (int i = 0; i < 14; i++) {
        snprintf(way, sizeof way, "%d", i);
        TRY("a program of its owner's, way", way, makes_setid(i));
    }
    TRY("security.capability", "", setid_by_xattr());
    TRY("trusted xattr", "", (close(open("own", O_CREAT | O_WRONLY, 0600)), OK(setxattr("own", "trusted.overlay.opaque", "y", 1, 0))));
    TRY("capset", "", raises());
    TRY("capabilities", "", has_any());
    TRY("ambient", "", OK(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SYS_ADMIN, 0, 0)));
    TRY("new privileges", "", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1);
    TRY("no filter", "", prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != 2);
    TRY("setuid", "", OK(setuid(getuid() + 1)));
    TRY("setgid", "", OK(setgid(getgid() + 1)));
    TRY("setgroups", "", ({ gid_t group = 0; OK(setgroups(1, &group)); }));
    TRY("chown to another", "", (close(open("own", O_CREAT | O_WRONLY, 0600)), OK(chown("own", getuid() + 1, -1))));
    TRY("real time", "", ({ struct sched_param one = {1}; OK(sched_setscheduler(0, SCHED_FIFO, &one)); }));
    TRY("priority", "", OK(setpriority(PRIO_PROCESS, 0, -20)));
    // Who is put behind all others ends nobody in time.
    TRY("the first's place", "idle", ({ struct sched_param none = {0}; OK(sched_setscheduler(1, SCHED_IDLE, &none)); }));
    TRY("the first's place", "last", OK(setpriority(PRIO_PROCESS, 1, 19)));
    TRY("the first's place", "with its group", OK(setpriority(PRIO_PGRP, 0, 19)));
    TRY("the first's place", "with all of its user", OK(setpriority(PRIO_USER, 0, 19)));
    TRY("the first's place", "by attributes", ({ uint32_t how[14] = {56, SCHED_IDLE}; OK(syscall(SYS_sched_setattr, 1, how, 0)); }));
    TRY("the first's place", "at the disk", OK(syscall(SYS_ioprio_set, 1, 1, 3 << 13)));
    TRY("the group", "of who watches outside", getpgrp() == 0);
    TRY("a folder that stays", "", ({ errno = 0; ioctl(open(".", O_RDONLY), 0x5000940e, "stays"); errno != EOPNOTSUPP; }));
    TRY("limits", "", ({ struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY}; OK(setrlimit(RLIMIT_FSIZE, &all)); }));
    TRY("core files", "", ({ struct rlimit all; getrlimit(RLIMIT_CORE, &all) == 0 && all.rlim_max != 0; }));
    TRY("mlockall", "", OK(mlockall(MCL_CURRENT | MCL_FUTURE)) && getuid() == 0 && has_any());
    TRY("a file of 1 TB", "", grows(1LL << 40));
    TRY("a file beyond the limit", "", grows(3LL << 30));
    TRY("64 GB of memory", "", fills_memory(64UL << 30));
    TRY("2,000 processes", "", multiplies(2000));
}

static void network(void) {
    static const int kinds[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_RDM, SOCK_SEQPACKET, SOCK_DCCP, SOCK_PACKET};
    char what[32];
    for (int family = 0; family < 48; family++) {
        snprintf(what, sizeof what, "%d", family);
        TRY("socket of family", what, ({ int any = 0; for (int i = 0; i < 7; i++) any |= OK(socket(family, kinds[i], 0)); any; }));
        TRY("pair of family", what, ({ int any = 0; for (int i = 0; i < 7; i++) any |= (family != AF_UNIX || (kinds[i] != SOCK_STREAM && kinds[i] != SOCK_SEQPACKET)) && (pairs(family, kinds[i]) || pairs(family, kinds[i] | SOCK_CLOEXEC | SOCK_NONBLOCK)); any; }));
    }
    TRY("datagram to", "the host's", sends(datagrams));
    TRY("datagram to", "/dev/log", sends("/dev/log"));
    TRY("datagram to", "journald", sends("/run/systemd/journal/socket"));
    TRY("call", "the host's", calls(sock, 0));
    TRY("call", "by name", calls(abstracted, 1));
    TRY("call", "D-Bus", calls("/run/dbus/system_bus_socket", 0));
    TRY("call", "Docker", calls("/var/run/docker.sock", 0));
    TRY("call", "the port", calls_port());
}

static void deep(const char *name, int depth) {
    int at = open(".", O_RDONLY | O_DIRECTORY);
    for (int i = 0; i < depth; i++) {
        if (mkdirat(at, name, 0700)) break;
        int next = openat(at, name, O_RDONLY | O_DIRECTORY);
        if (next < 0) break;
        if (i % 100 == 0) close(openat(at, "file", O_CREAT | O_WRONLY, 0));
        if (i > 0) fchmod(at, 0);
        close(at);
        at = next;
    }
    fchmod(at, 0);
}

static int fill(void) {
    char name[256];
    if (mkdir("heap", 0700) || chdir("heap")) return 1;
    for (int i = 0; i < 30000; i++) {
        snprintf(name, sizeof name, "file-%d", i);
        close(open(name, O_CREAT | O_WRONLY, 0));
    }
    memset(name, 0xff, 255);
    name[255] = 0;
    mkdir(name, 0);
    memset(name, '\n', 255);
    mkfifo(name, 0);
    symlink(".", "loop");
    symlink("/", "root");
    mkdir(".moved-1", 0);
    symlink("..", ".moved-2");
    mkfifo(".moved-3", 0);
    link("file-1", ".moved-4");
    grows(4 << 20);
    // The kernel looks at all folders above, each time: more would take minutes.
    deep("d", 2500);
    if (chdir("..")) return 1;
    deep("e", 2500);
    printf("filled\n");
    return 0;
}

int main(int count, char **arguments) {
    if (count == 2) return fill();
    if (count != 8) return 2;
    secret = arguments[1], upper = arguments[2], sock = arguments[3], datagrams = arguments[4], abstracted = arguments[5];
    port = atoi(arguments[6]), host = atoi(arguments[7]);
    setvbuf(stdout, NULL, _IOLBF, 4096);
    hidden("the secret", secret);
    hidden("the draft", upper);
    hidden("/etc/shadow", "/etc/shadow");
    hidden("/former/etc/passwd", "/former/etc/passwd");
    untouched("/etc/passwd");
    untouched("/usr/bin/env");
    untouched("/run/hob");
    static const char *places[] = {"/", "/etc", "/usr", "/usr/bin", "/dev", "/run", "/var", "/proc", "/proc/self", "/sys"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        TRY("create in", places[i], made(places[i], "new", 0) || made(places[i], "new", 1) || made(places[i], "new", 2));
        TRY("link in", places[i], made(places[i], "new", 3));
    }
    processes();
    kernel();
    rights();
    network();
    printf("%d tries, %d succeeded\n", tries, succeeded);
    return succeeded != 0;
}
