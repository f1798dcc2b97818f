/**
 * Peer: a bare uWebSockets.js server that publishes the same bytes (BARE_FRAME) to all its sockets, paced as ours is.
 * Prints `{port, controlPort}`.
 */
import uWS from "uWebSockets.js";
import { serveTrigger } from "../lib/paced-trigger.js";

const frame = process.env.BARE_FRAME ?? "{}";
const app = uWS.App();
app.ws("/ws", {
  compression: uWS.DISABLED,
  maxBackpressure: 4 * 1024 * 1024,
  idleTimeout: 0,
  sendPingsAutomatically: false,
  open: (socket) => void socket.subscribe("all"),
});
const controlPort = await serveTrigger(
  Number(process.env.SOCKETS ?? "1"),
  () => void app.publish("all", frame, false, false),
);
app.listen("127.0.0.1", 0, (socket) => {
  if (socket === false) throw new Error("cannot listen");
  process.stdout.write(`${JSON.stringify({ port: uWS.us_socket_local_port(socket), controlPort })}\n`);
});
process.on("SIGTERM", () => process.exit(0));
