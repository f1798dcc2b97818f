/**
 * The configuration of one signing party: `party.json` in a folder of its own, beside the certificate of its link. Each
 * party reads its own folder and nothing of the other's; what `unwind custody init` makes for C is carried to C's host.
 * Paths are relative to the folder. All problems are found at once; none quotes a secret, and the file holds none.
 */
import { isAbsolute, join } from "node:path";
import { PARTY_NAMES, type PartyName } from "./party-names.js";

export const CONFIG_FILE = "party.json";
export const CERTIFICATE_FILE = "link.crt";
export const KEY_FILE = "link.key";
const FORMAT = 1;

export interface PartyConfig {
  readonly party: PartyName;
  readonly directory: string;
  readonly certificateFile: string;
  readonly keyFile: string;
  /** SHA-256 of the peer's SubjectPublicKeyInfo, `sha256/` and base64; one, or two while the peer's key changes. */
  readonly peerPins: readonly string[];
  /** X25519, 32 bytes; its private key is kept away from every machine of the service. */
  readonly backupPublicKey: Buffer;
  readonly backupDirectory: string;
  /** C alone: what the service has of its own. */
  readonly cosigner: CosignerConfig | null;
}

export interface CosignerConfig {
  /** Where it listens when it is not started by the service. */
  readonly host: string;
  readonly port: number;
  readonly kekFile: string;
  readonly dataDirectory: string;
  /** Null: the default policy, which signs messages of callers and nothing else. */
  readonly policyFile: string | null;
}

export type PartyConfigResult =
  | { readonly ok: true; readonly config: PartyConfig }
  | { readonly ok: false; readonly problems: readonly string[] };

const COMMON = ["format", "party", "peerPins", "backupPublicKey", "backupDirectory"] as const;
const OF_COSIGNER = ["host", "port", "kekFile", "dataDirectory", "policyFile"] as const;
const PIN = /^sha256\/[A-Za-z0-9+/]{43}=$/;
const HEX_KEY = /^[0-9a-f]{64}$/;

type Members = Readonly<Record<string, unknown>>;

/** `readFile`: the text of a file, null where it cannot be read. */
export function readPartyConfig(
  directory: string,
  party: PartyName,
  readFile: (path: string) => string | null,
): PartyConfigResult {
  const path = join(directory, CONFIG_FILE);
  const text = readFile(path);
  if (text === null)
    return { ok: false, problems: [`${path} cannot be read: \`unwind custody init\` makes both folders`] };
  const members = objectOf(text);
  if (members === null) return { ok: false, problems: [`${path} must hold one JSON object`] };
  const problems: string[] = [];
  const config = assemble(directory, party, members, problems);
  return problems.length === 0
    ? { ok: true, config }
    : { ok: false, problems: problems.map((problem) => `${path}: ${problem}`) };
}

function assemble(directory: string, party: PartyName, members: Members, problems: string[]): PartyConfig {
  const known: readonly string[] = party === "cosigner" ? [...COMMON, ...OF_COSIGNER] : COMMON;
  for (const name of Object.keys(members)) if (!known.includes(name)) problems.push(`${name} is unknown`);
  if (members["format"] !== FORMAT) problems.push(`format must be ${FORMAT}`);
  if (members["party"] !== party)
    problems.push(
      PARTY_NAMES.includes(members["party"] as PartyName)
        ? `this folder is the ${String(members["party"])}'s, not the ${party}'s`
        : `party must be ${party}`,
    );
  const pathOf = (name: string, fallback: string): string => {
    const value = members[name] ?? fallback;
    if (typeof value === "string" && value !== "" && !value.includes("\0"))
      return isAbsolute(value) ? value : join(directory, value);
    problems.push(`${name} must be a path`);
    return fallback;
  };
  return {
    party,
    directory,
    certificateFile: join(directory, CERTIFICATE_FILE),
    keyFile: join(directory, KEY_FILE),
    peerPins: pinsOf(members["peerPins"], problems),
    backupPublicKey: backupKeyOf(members["backupPublicKey"], problems),
    backupDirectory: pathOf("backupDirectory", "backups"),
    cosigner: party === "cosigner" ? cosignerOf(members, pathOf, problems) : null,
  };
}

function cosignerOf(
  members: Members,
  pathOf: (name: string, fallback: string) => string,
  problems: string[],
): CosignerConfig {
  const { host = "127.0.0.1", port = 0 } = members;
  if (typeof host !== "string" || host === "") problems.push("host must be an address");
  if (typeof port !== "number" || !Number.isInteger(port) || port < 0 || port > 65_535)
    problems.push("port must be a whole number from 0 to 65535");
  return {
    host: String(host),
    port: Number(port),
    kekFile: pathOf("kekFile", "kek"),
    dataDirectory: pathOf("dataDirectory", "data"),
    policyFile: members["policyFile"] === undefined ? null : pathOf("policyFile", "policy.json"),
  };
}

function pinsOf(value: unknown, problems: string[]): readonly string[] {
  const isRight =
    Array.isArray(value) &&
    value.length >= 1 &&
    value.length <= 2 &&
    value.every((pin) => typeof pin === "string" && PIN.test(pin));
  if (isRight) return value as readonly string[];
  problems.push("peerPins must be one or two texts such as sha256/… (`unwind custody pin` prints the own one)");
  return [];
}

function backupKeyOf(value: unknown, problems: string[]): Buffer {
  if (typeof value === "string" && HEX_KEY.test(value)) return Buffer.from(value, "hex");
  problems.push("backupPublicKey must be 64 hex digits (`unwind custody backup-key` makes a pair)");
  return Buffer.alloc(32);
}

function objectOf(text: string): Members | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Members) : null;
  } catch {
    return null;
  }
}
