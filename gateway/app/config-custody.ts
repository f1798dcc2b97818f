/**
 * Server wallets: the options, and what they need of the rest of the configuration. Each problem is one line that names
 * what to change.
 */
import { join } from "node:path";
import { type PartyConfig, readPartyConfig } from "../custody/party-config.js";
import type { AuthMode } from "./config-access.js";
import { option } from "./config-option.js";

export const CUSTODY_OPTIONS = {
  CUSTODY_DIR: option({
    kind: "text",
    default: "",
    doc: "Folder of the service's side of two-party signing, made by `unwind custody init` (docs/custody.md). Empty: there are no server wallets, and their routes answer 404. Not in public mode.",
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

export interface CustodyConfig {
  readonly party: PartyConfig;
  readonly cosigner: CosignerPlace;
}

export type CosignerPlace =
  | { readonly kind: "child"; readonly directory: string }
  | { readonly kind: "remote"; readonly host: string; readonly port: number };

interface Values {
  readonly CUSTODY_DIR: string;
  readonly COSIGNER_DIR: string;
  readonly COSIGNER_URL: string;
}

/** Null: no server wallets. */
export function readCustody(
  values: Values,
  authMode: AuthMode,
  readFile: (path: string) => string | null,
  problems: string[],
): CustodyConfig | null {
  const { CUSTODY_DIR: directory, COSIGNER_DIR: folder, COSIGNER_URL: url } = values;
  if (directory === "") {
    if (folder !== "" || url !== "") problems.push("COSIGNER_DIR and COSIGNER_URL need CUSTODY_DIR");
    return null;
  }
  if (authMode === "public")
    problems.push("CUSTODY_DIR with AUTH_MODE=public would let anyone sign who reaches the port: set AUTH_MODE=signed");
  if (folder !== "" && url !== "") problems.push("COSIGNER_DIR and COSIGNER_URL are set together: keep one of them");
  const cosigner = placeOf(values);
  if (cosigner === null) problems.push("COSIGNER_URL must be tls://host:port");
  const party = readPartyConfig(directory, "service", readFile);
  if (!party.ok) problems.push(...party.problems.map((problem) => `CUSTODY_DIR: ${problem}`));
  return party.ok && cosigner !== null ? { party: party.config, cosigner } : null;
}

function placeOf({ CUSTODY_DIR, COSIGNER_DIR, COSIGNER_URL }: Values): CosignerPlace | null {
  if (COSIGNER_URL === "")
    return { kind: "child", directory: COSIGNER_DIR === "" ? join(CUSTODY_DIR, "..", "cosigner") : COSIGNER_DIR };
  const parts = /^tls:\/\/(\[[0-9a-f:]+\]|[^/:@?#]+):(\d{1,5})\/?$/i.exec(COSIGNER_URL);
  const [, host = "", portText = ""] = parts ?? [];
  const port = Number(portText);
  if (host === "" || port < 1 || port > 65_535) return null;
  return { kind: "remote", host: host.replace(/^\[|\]$/g, ""), port };
}
