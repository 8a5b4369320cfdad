//! The Java compiler and virtual machine.

use guard_tests::{World, has};

const PROGRAM: &str = r#"
import java.io.*; import java.nio.channels.*; import java.nio.file.*; import java.net.*; import java.util.*; import java.util.concurrent.*; import java.util.stream.*;
public class T {
  record Pair(int a, int b) {}
  public static void main(String[] args) throws Exception {
    Path d = Files.createDirectories(Path.of("d/e")); ExecutorService pool = Executors.newFixedThreadPool(16);
    List<Future<Integer>> sizes = new ArrayList<>();
    for (int i = 0; i < 200; i++) { int n = i; sizes.add(pool.submit(() -> { Path p = d.resolve("f" + n); Files.writeString(p, "x".repeat(n)); return Files.readString(p).length(); })); }
    int sum = 0; for (var size : sizes) sum += size.get(); System.out.println(sum); pool.shutdown();
    Files.move(d.resolve("f1"), d.resolve("m1"), StandardCopyOption.ATOMIC_MOVE); Files.copy(d.resolve("f2"), d.resolve("c2"), StandardCopyOption.COPY_ATTRIBUTES); Files.createSymbolicLink(d.resolve("l"), Path.of("f2")); Files.createLink(d.resolve("h"), d.resolve("f2"));
    try (var all = Files.walk(Path.of("d"))) { System.out.println(all.count()); }
    for (String bad : new String[] { "none", "d", "/etc/shadow/x" }) try { Files.newInputStream(Path.of(bad)).read(); System.out.println("read"); } catch (IOException e) { System.out.println(e); }
    try { Files.createFile(d.resolve("f3")); } catch (FileAlreadyExistsException e) { System.out.println(e); }
    try (var channel = FileChannel.open(Path.of("map"), StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE); var lock = channel.lock()) { channel.map(FileChannel.MapMode.READ_WRITE, 0, 4096).putInt(0, 42); System.out.println(lock.isValid()); }
    Process cat = new ProcessBuilder("cat").start(); cat.getOutputStream().write("piped".getBytes()); cat.getOutputStream().close(); System.out.println(new String(cat.getInputStream().readAllBytes()) + cat.waitFor());
    System.out.println(new ProcessBuilder("sh", "-c", "echo $VAR; pwd | sed 's,.*/,,'; exit 5").directory(new File("d")).redirectOutput(new File("out")).start().waitFor());
    try { new ProcessBuilder("no-such-program").start(); } catch (IOException e) { System.out.println(e.getMessage()); }
    var server = ServerSocketChannel.open(StandardProtocolFamily.UNIX).bind(UnixDomainSocketAddress.of("sock")); var client = SocketChannel.open(UnixDomainSocketAddress.of("sock")); System.out.println(server.accept().getRemoteAddress() + " " + server.getLocalAddress());
    try (var tcp = new ServerSocket(0, 5, InetAddress.getLoopbackAddress()); var s = new Socket(tcp.getInetAddress(), tcp.getLocalPort())) { System.out.println(tcp.accept().isConnected()); }
    Path t = Files.createTempFile(Path.of("."), "t", ".tmp"); System.out.println(Files.getPosixFilePermissions(t)); Files.delete(t); new File("gone").deleteOnExit();
    System.out.println(ProcessHandle.current().info().command().get() + " " + new Pair(1, 2) + IntStream.range(0, 1000).parallel().sum()); System.exit(7);
  }
}
"#;

#[test]
fn javac_jar_and_java() {
    if !has(&["java", "javac"]) {
        return;
    }
    let script = "set -e; javac -d classes T.java && ls classes && jar --date=2020-01-01T00:00:00Z --create --file t.jar --main-class T -C classes . && jar tf t.jar
        java -Xshare:auto -jar t.jar || echo $?; java -XX:TieredStopAtLevel=1 -cp classes T | tail -1; echo 'System.out.println(6 * 7);' > s.jsh";
    let same = World::open().same(
        |world| drop(world.write("work/T.java", PROGRAM)),
        &["bash", "-c", script],
        &["t.jar"],
    );
    assert!(same.native.stdout.contains("\n7\n"), "{} {}", same.native.stdout, same.native.stderr);
}
