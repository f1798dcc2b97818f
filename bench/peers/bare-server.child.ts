/**
 * Peer: a bare uWebSockets.js server that answers the same bytes, head and body. `GET /*` answers the text of
 * BARE_REPLY; `POST /*` reads the body, parses it and answers the same. BARE_HEADERS is a JSON list of name and value
 * pairs. Prints its port.
 */
import uWS from "uWebSockets.js";

const reply = process.env.BARE_REPLY ?? "{}";
const headers = JSON.parse(process.env.BARE_HEADERS ?? "[]") as [name: string, value: string][];

const app = uWS.App();
app.get("/*", (res) => {
  for (const [name, value] of headers) res.writeHeader(name, value);
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
    res.cork(() => {
      for (const [name, value] of headers) res.writeHeader(name, value);
      res.end(reply);
    });
  });
});
app.listen("127.0.0.1", 0, (socket) => {
  if (socket === false) throw new Error("cannot listen");
  process.stdout.write(`${uWS.us_socket_local_port(socket)}\n`);
});
process.on("SIGTERM", () => process.exit(0));
