/**
 * The configuration of one signing party: `party.json` in a folder of its own, beside the certificate of its link. Each
 * party reads its own folder and nothing of the other's; what `unwind custody init` makes for C is carried to C's host.
 * Paths are relative to the folder. All problems are found at once; none quotes a secret, and the file holds none.
 */
import { isAbsolute, join } from "node:path";
import { type BackupPublicKey, parseBackupPublicKey } from "../../engine/custody/provider/backup-key.js";
import type { PartyFiles } from "./party-certificate.js";
import { PARTY_NAMES, type PartyName } from "./party-names.js";
import { formatPin, parsePins } from "./pins.js";

export const CONFIG_FILE = "party.json";
const CERTIFICATE_FILE = "link.crt";
const KEY_FILE = "link.key";
const FORMAT = 1;

export interface PartyConfig {
  readonly party: PartyName;
  readonly directory: string;
  readonly files: PartyFiles;
  /** One, or two while the peer's key changes. */
  readonly peerPins: readonly Buffer[];
  /** Its private half is kept away from every machine of the service. */
  readonly backupKey: BackupPublicKey | null;
  readonly backupDirectory: string;
  /** C alone: what the service has of its own. */
  readonly cosigner: CosignerConfig | null;
}

export interface CosignerConfig {
  /** Where it listens when it is not started by the service. */
  readonly host: string;
  readonly port: number;
  readonly kekFile: string;
  /** The key before, while a rotation that began is not done; null: none. It may stay afterwards. */
  readonly kekFormerFile: string | null;
  readonly dataDirectory: string;
  /** Null: the default policy, which signs messages of callers and nothing else. */
  readonly policyFile: string | null;
}

export type PartyConfigResult =
  | { readonly ok: true; readonly config: PartyConfig }
  | { readonly ok: false; readonly problems: readonly string[] };

const COMMON = ["format", "party", "peerPins", "backupPublicKey", "backupDirectory"] as const;
const OF_COSIGNER = ["host", "port", "kekFile", "kekFormerFile", "dataDirectory", "policyFile"] as const;

type Members = Readonly<Record<string, unknown>>;

/** Whose folder it is; null: no party's. `readFile` as below. */
export function partyOfFolder(directory: string, readFile: (path: string) => string | null): PartyName | null {
  const named = objectOf(readFile(join(directory, CONFIG_FILE)) ?? "")?.["party"];
  return PARTY_NAMES.find((name) => name === named) ?? null;
}

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
    files: filesOf(directory),
    peerPins: pinsOf(members["peerPins"], problems),
    backupKey: backupKeyOf(members["backupPublicKey"], problems),
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
    kekFormerFile: members["kekFormerFile"] === undefined ? null : pathOf("kekFormerFile", "kek"),
    dataDirectory: pathOf("dataDirectory", "data"),
    policyFile: members["policyFile"] === undefined ? null : pathOf("policyFile", "policy.json"),
  };
}

function pinsOf(value: unknown, problems: string[]): readonly Buffer[] {
  const parsed =
    Array.isArray(value) && value.length > 0 && value.every((pin) => typeof pin === "string")
      ? parsePins(value.join(","))
      : ({ ok: false, problem: "must be a list of one or two pins" } as const);
  if (parsed.ok) return parsed.pins;
  problems.push(`peerPins: ${parsed.problem}`);
  return [];
}

function backupKeyOf(value: unknown, problems: string[]): BackupPublicKey | null {
  const parsed = parseBackupPublicKey(typeof value === "string" ? value : "");
  if (parsed.ok) return parsed.key;
  problems.push(`backupPublicKey: ${parsed.problem} (\`unwind custody backup-key\` makes a pair)`);
  return null;
}

export function filesOf(directory: string): PartyFiles {
  return { certFile: join(directory, CERTIFICATE_FILE), keyFile: join(directory, KEY_FILE) };
}

/** The text of a new `party.json`. */
export function partyConfigText(party: PartyName, peerPin: Uint8Array, backupKey: BackupPublicKey): string {
  const members = {
    ...{ format: FORMAT, party, peerPins: [formatPin(peerPin)] },
    backupPublicKey: backupKey.bytes.toString("hex"),
    backupDirectory: "backups",
    ...(party === "cosigner" ? { host: "127.0.0.1", port: 0, kekFile: "kek", dataDirectory: "data" } : {}),
  };
  return `${JSON.stringify(members, null, 2)}\n`;
}

function objectOf(text: string): Members | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Members) : null;
  } catch {
    return null;
  }
}
