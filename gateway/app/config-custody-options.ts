/** The options of server wallets, a part of the one table (config-options.ts); the rules between them are in config-custody.ts. */
import { option } from "./config-option.js";

export const CUSTODY_OPTIONS = {
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
