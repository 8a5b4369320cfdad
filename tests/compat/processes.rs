//! /proc of other processes, the guard's own among them: what ps(1), top(1), pgrep(1) and psutil read.

use guard_tests::World;

use crate::script::printed;

/// Reads what every user may read (proc_pid_status(5) and its neighbours), of every process and each of its threads.
/// Processes that end meanwhile do not count.
const READ_ALL: &str = "
import glob
failed = set(); processes = set()
NAMES = 'stat status cmdline comm statm cgroup oom_score oom_score_adj wchan'.split()
def read(path):
 try: return open(path, 'rb').read()
 except (FileNotFoundError, ProcessLookupError): return b''
 except OSError as e: failed.add((path.rsplit('/')[-1], errno.errorcode[e.errno])); return b''
for process in glob.glob('/proc/[0-9]*'):
 try: tasks = os.listdir(process + '/task')
 except (FileNotFoundError, ProcessLookupError): continue
 except OSError as e: failed.add(('task', errno.errorcode[e.errno])); tasks = []
 processes.add(process)
 for name in NAMES:
  read(process + '/' + name)
  for task in tasks: read(f'{process}/task/{task}/{name}')
";

/// Returns what a script adds to [`READ_ALL`], natively and guarded, under each kind of policy.
fn found(script: &str) -> Vec<[String; 2]> {
    let only_base = r#"{"version": 1, "exec": {"security": "full", "ask": "off"},
        "permissions": {"filesystem": {"rules": {"/usr/**": "r-x", "@/**": "r--"}, "default": "---"}}}"#;
    [World::open(), World::bare(), World::bare().policy(only_base)]
        .map(|world| printed(&world, &format!("{READ_ALL}{script}")))
        .into()
}

#[test]
fn public_files_of_other_processes_can_be_read() {
    for found in found("print(sorted(failed))") {
        assert_eq!(found, ["[]", "[]"]);
    }
}

/// As psutil's children(recursive=True) looks for them, and Jupyter when it ends a kernel.
#[test]
fn parents_lead_to_the_first_process() {
    let script = "
at = os.getpid(); seen = []
while at > 1:
 seen.append(read(f'/proc/{at}/cmdline') != b'')
 at = int(open(f'/proc/{at}/stat').read().rsplit(') ', 1)[1].split()[1])
print(len(seen) > 1, all(seen))";
    for found in found(script) {
        assert_eq!(found, ["True True", "True True"]);
    }
}

/// What may hold secrets, or leads to files, stays closed, also where /proc is readable by the policy.
#[test]
fn private_files_of_the_guard_cannot_be_read() {
    let script = "
at = os.getppid(); opened = set()
while at > 1:
 if open(f'/proc/{at}/comm').read().strip() in ('openclaw-guard', 'guard', 'guard-layers'):
  for place in f'/proc/{at}', f'/proc/{at}/task/{at}':
   for name in 'environ mem maps smaps auxv io mountinfo fd fdinfo cwd/. root/. exe personality syscall ns/user'.split():
    if tried(os.open, f'{place}/{name}', 0) == 'done': opened.add(name)
  if tried(os.open, f'/proc/{at}/comm', os.O_WRONLY) == 'done': opened.add('comm')
  if tried(os.open, f'/proc/{at}/oom_score_adj', os.O_WRONLY) == 'done': opened.add('oom_score_adj')
  opened.add('a guard')
 at = int(open(f'/proc/{at}/stat').read().rsplit(') ', 1)[1].split()[1])
print(*opened)";
    for [_, guarded] in found(script) {
        assert_eq!(guarded, "a guard");
    }
}

/// ps(1) leaves out a process that it may not read, and reports no error.
#[test]
fn listings_show_the_process_above() {
    for list in ["ps -ef --forest", "ps -eLlf", "ps axo pid,cgroup,wchan,args", "top -b -n 1", "pgrep ."] {
        let script = format!("{list} > list && grep -qw $PPID list && echo listed");
        for ended in World::open().both(&["sh", "-c", &script]) {
            assert_eq!((&*ended.stdout, &*ended.stderr), ("listed\n", ""), "{list}");
        }
    }
}

/// The rules that show other processes are for reading, and the longest rule counts.
#[test]
fn a_process_may_write_its_own_files_in_proc() {
    let script = "
def write(name, text):
 with open(f'/proc/self/{name}', 'w') as file: file.write(text)
task = f'task/{os.getpid()}'
print(*(tried(write, *pair) for pair in [('comm', 'x'), ('oom_score_adj', '500'),
  (f'{task}/comm', 'y'), (f'{task}/oom_score_adj', '600')]))";
    for found in found(script) {
        assert_eq!(found, ["done done done done"; 2]);
    }
}
