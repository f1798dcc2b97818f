/**
 * Peer: a bare node:https server with the certificate of TLS_CERT_FILE and TLS_KEY_FILE. It answers the text of
 * BARE_REPLY. Prints its port.
 */
import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";

const reply = process.env.BARE_REPLY ?? "{}";
const server = createServer(
  {
    cert: readFileSync(process.env.TLS_CERT_FILE ?? ""),
    key: readFileSync(process.env.TLS_KEY_FILE ?? ""),
    minVersion: "TLSv1.2",
  },
  (_, response) => response.end(reply),
);
server.listen(0, "127.0.0.1", () => {
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`);
});
process.on("SIGTERM", () => process.exit(0));
