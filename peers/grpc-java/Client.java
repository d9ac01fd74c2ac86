import io.grpc.CallOptions;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/**
 * A grpc-java client that calls xds:///greeter without a pause and prints what its calls met with (see the README of
 * examples/grpc). It ends with its standard input. Its argument is the pause between two calls, in milliseconds.
 */
final class Client {
  /** Bytes in, bytes out: the service has no messages. */
  private static final MethodDescriptor.Marshaller<byte[]> BYTES =
      new MethodDescriptor.Marshaller<>() {
        @Override
        public InputStream stream(byte[] value) {
          return new ByteArrayInputStream(value);
        }

        @Override
        public byte[] parse(InputStream stream) {
          try {
            return stream.readAllBytes();
          } catch (IOException error) {
            throw new UncheckedIOException(error);
          }
        }
      };

  private static final MethodDescriptor<byte[], byte[]> GREET =
      MethodDescriptor.<byte[], byte[]>newBuilder(BYTES, BYTES)
          .setType(MethodDescriptor.MethodType.UNARY)
          .setFullMethodName("example.Greeter/Greet")
          .build();

  private static final Map<String, Integer> answers = new TreeMap<>();
  private static final Map<String, Integer> failures = new TreeMap<>();

  public static void main(String[] arguments) throws InterruptedException {
    long pauseMillis = arguments.length > 0 ? Long.parseLong(arguments[0]) : 1;
    ManagedChannel channel =
        Grpc.newChannelBuilder("xds:///greeter", InsecureChannelCredentials.create()).build();
    start(Client::report);
    start(
        () -> {
          System.in.transferTo(OutputStream.nullOutputStream());
          Runtime.getRuntime().halt(0);
        });
    while (true) {
      CallOptions options = CallOptions.DEFAULT.withDeadlineAfter(20, TimeUnit.SECONDS);
      try {
        count(answers, new String(ClientCalls.blockingUnaryCall(channel, GREET, options, new byte[0])));
      } catch (StatusRuntimeException error) {
        Status status = error.getStatus();
        count(failures, status.getCode() + ": " + status.getDescription());
      }
      Thread.sleep(pauseMillis);
    }
  }

  private static synchronized void count(Map<String, Integer> counts, String name) {
    counts.merge(name, 1, Integer::sum);
  }

  private static synchronized String line() {
    return "{\"answers\":" + json(answers) + ",\"failures\":" + json(failures) + "}";
  }

  private static void report() throws InterruptedException {
    while (true) {
      Thread.sleep(20);
      System.out.println(line());
    }
  }

  private static String json(Map<String, Integer> counts) {
    return counts.entrySet().stream()
        .map(entry -> quote(entry.getKey()) + ":" + entry.getValue())
        .collect(Collectors.joining(",", "{", "}"));
  }

  private static String quote(String text) {
    String escaped = text.replace("\\", "\\\\").replace("\"", "\\\"").replaceAll("\\p{Cntrl}", " ");
    return "\"" + escaped + "\"";
  }

  private interface Work {
    void run() throws Exception;
  }

  private static void start(Work work) {
    Thread thread =
        new Thread(
            () -> {
              try {
                work.run();
              } catch (Exception error) {
                error.printStackTrace();
              }
            });
    thread.setDaemon(true);
    thread.start();
  }
}
