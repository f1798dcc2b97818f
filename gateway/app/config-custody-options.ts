/** The options of server wallets, a part of the one table (config-options.ts); the rules between them are in config-custody.ts. */
import { option } from "./config-option.js";

export const CUSTODY_OPTIONS = {
  WALLET_PROVIDER: option({
    kind: "word",
    words: ["embedded", "https"],
    default: "embedded",
    doc: "Who holds the keys of server wallets. embedded: this service and its co-signer, where CUSTODY_DIR is set. https: an outside signer (docs/outside-signer.md). A DATA_DIR that has wallets of one is refused by the other.",
  }),
  WALLET_PROVIDER_URL: option({
    kind: "optional-url",
    default: "",
    doc: "Of the outside signer, https unless it is on this machine; paths of its contract follow it.",
  }),
  WALLET_PROVIDER_TOKEN_FILE: option({
    kind: "text",
    default: "",
    doc: "File with the token that the outside signer knows this service by: one line of 16 to 4,096 visible characters, of mode 600. A new one is taken up without a restart, once the signer refuses the present one.",
  }),
  WALLET_PROVIDER_CA_FILE: option({
    kind: "text",
    default: "",
    doc: "PEM file of the authorities that may vouch for the outside signer, instead of those of the system.",
  }),
  WALLET_PROVIDER_DIGESTS: option({
    kind: "boolean",
    default: false,
    doc: "Put raw digests of callers to the outside signer. Whoever may have them signed may have everything signed.",
  }),
  CUSTODY_DIR: option({
    kind: "text",
    default: "",
    doc: "Folder of the service's side of two-party signing, made by `unwind custody init` (docs/custody.md). Empty: there are no server wallets, and their paths are 404. Not in public mode.",
  }),
  COSIGNER_DIR: option({
    kind: "text",
    default: "",
    doc: "Folder of the co-signer's side where the service starts the co-signer itself. Empty: `cosigner` beside CUSTODY_DIR.",
  }),
  COSIGNER_URL: option({
    kind: "text",
    default: "",
    doc: "`tls://host:port` of a co-signer on another host (`unwind cosigner`). Empty: the service starts one beside itself, which guards against less: whoever has this machine has both shares.",
  }),
};
