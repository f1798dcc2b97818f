/**
 * Options of who may reach the service and how: keys, sealing, TLS, proxies, origins, the admin socket. Part of the one
 * table (config-options.ts); the rules between them are in config-access.ts.
 */
import { option } from "./config-option.js";

export const AUTH_OPTIONS = {
  AUTH_MODE: option({
    kind: "word",
    words: ["public", "signed", "secret"],
    default: "",
    doc: "`signed`: each request is signed with an API key. `secret`: key and secret are sent, for trusted networks only. `public`: no key is needed, keys that are shown are verified; loopback only, and never under `npm run serve`. Empty: `signed` under `npm run serve`, else `public`.",
  }),
  KEK_FILE: option({
    kind: "text",
    default: "",
    doc: "File with the key-encryption key that seals stored secrets: 32 bytes, or 64 hex digits. Its owner alone may read it (mode 0600 or 0400). Not in `DATA_DIR` under `npm run serve`: a copy of that folder would open itself. Needed, in one of its four forms, unless AUTH_MODE is public.",
  }),
  KEK_HEX: option({
    kind: "secret",
    default: "",
    doc: "The same key as 64 hex digits. Whoever can read the environment of the process can read it.",
  }),
  KEK_PASSPHRASE_FILE: option({
    kind: "text",
    default: "",
    doc: "File with a passphrase of 12 to 1024 bytes to derive the key from (scrypt); one line end after it does not count. Mode as above.",
  }),
  KEK_PASSPHRASE: option({ kind: "secret", default: "", doc: "The same passphrase as text." }),
  KEK_FORMER_FILE: option({
    kind: "text",
    default: "",
    doc: "The key before, in one of the four forms, while secrets are sealed again under the present one (`unwind seal rotate`). It may stay set afterwards.",
  }),
  KEK_FORMER_HEX: option({ kind: "secret", default: "", doc: "Likewise." }),
  KEK_FORMER_PASSPHRASE_FILE: option({ kind: "text", default: "", doc: "Likewise." }),
  KEK_FORMER_PASSPHRASE: option({ kind: "secret", default: "", doc: "Likewise." }),
};

export const NETWORK_OPTIONS = {
  TLS_CERT_FILE: option({
    kind: "text",
    default: "",
    doc: "Certificate chain (PEM, the server's certificate first). With it the service speaks TLS 1.2 and 1.3 only; SIGHUP or `unwind tls reload` takes up a new one.",
  }),
  TLS_KEY_FILE: option({
    kind: "text",
    default: "",
    doc: "Its private key (PEM, without a passphrase), which others may not read (mode 0640 or less).",
  }),
  TLS: option({
    kind: "word",
    words: ["auto", "off-behind-proxy"],
    default: "auto",
    doc: "`off-behind-proxy`: plain HTTP on an address that is no loopback, because something before the service speaks TLS and nobody else can reach the port.",
  }),
  TRUSTED_PROXIES: option({
    kind: "list",
    default: [],
    doc: "Addresses and CIDR blocks of the proxies whose `X-Forwarded-For` counts. Empty: of none.",
  }),
  ALLOWED_ORIGINS: option({
    kind: "list",
    default: [],
    doc: "Origins (`https://trade.example`) whose pages may use the service beside its own; each is named in Access-Control-Allow-Origin. A request of any other page is 403 FOREIGN_ORIGIN. Under `npm start` alone, `*` lets any page read, none trade or open the stream.",
  }),
  CORS_ALLOW_ORIGIN: option({
    kind: "list",
    default: [],
    doc: "The former name of ALLOWED_ORIGINS, still read, with a warning.",
  }),
  INSTANCE_FILE: option({
    kind: "text",
    default: "",
    doc: "Small file that counts beside the state store, so that a restored backup is seen as one (docs/operations.md). Not in DATA_DIR, and not in what is backed up with it. Empty: DATA_DIR with `.instance` behind its name.",
  }),
  ADMIN_SOCKET: option({
    kind: "text",
    default: "",
    doc: "Path of the Unix socket by which `unwind keys …` reaches the running service; at most 107 bytes long. Whoever can open it is the operator. Empty: `admin.sock` in DATA_DIR.",
  }),
};
