/**
 * Peer: a bare uWebSockets.js SSLApp with the certificate of TLS_CERT_FILE and TLS_KEY_FILE and our ciphers. `GET /*`
 * answers the text of BARE_REPLY. Prints its port.
 */
import uWS from "uWebSockets.js";

const reply = process.env.BARE_REPLY ?? "{}";
const app = uWS.SSLApp({
  cert_file_name: process.env.TLS_CERT_FILE ?? "",
  key_file_name: process.env.TLS_KEY_FILE ?? "",
  ssl_ciphers: "ECDHE+AESGCM:ECDHE+CHACHA20",
});
app.get("/*", (res) => void res.end(reply));
app.listen("127.0.0.1", 0, (socket) => {
  if (socket === false) throw new Error("cannot listen");
  process.stdout.write(`${uWS.us_socket_local_port(socket)}\n`);
});
process.on("SIGTERM", () => process.exit(0));
