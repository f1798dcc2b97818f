/**
 * Peer: a bare uWebSockets.js server that answers the same bytes. `GET /*` answers the text of BARE_REPLY;
 * `POST /*` reads the body, parses it and answers the text of BARE_POST_REPLY. Prints its port.
 */
import uWS from "uWebSockets.js";

const reply = process.env.BARE_REPLY ?? "{}";
const postReply = process.env.BARE_POST_REPLY ?? "{}";

const app = uWS.App();
app.get("/*", (res) => {
  res.writeHeader("Content-Type", "application/json");
  res.end(reply);
});
app.post("/*", (res) => {
  let isAborted = false;
  const pieces: Buffer[] = [];
  res.onAborted(() => {
    isAborted = true;
  });
  res.onData((chunk, isLast) => {
    pieces.push(Buffer.from(chunk.slice(0)));
    if (!isLast || isAborted) return;
    JSON.parse(Buffer.concat(pieces).toString());
    res.writeHeader("Content-Type", "application/json");
    res.end(postReply);
  });
});
app.listen("127.0.0.1", 0, (socket) => {
  if (socket === false) throw new Error("cannot listen");
  process.stdout.write(`${uWS.us_socket_local_port(socket)}\n`);
});
process.on("SIGTERM", () => process.exit(0));
