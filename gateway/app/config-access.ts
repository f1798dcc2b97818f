/**
 * Who may reach the service and how: the rules between the options of config-access-options.ts. Each problem is one line
 * that names what to change. No value of a secret is ever part of one.
 */
import { isIP } from "node:net";
import { dirname, resolve, sep } from "node:path";
import { socketPath } from "../admin/socket-path.js";
import { isLoopback } from "../http/server-address.js";
import { isOrigin } from "../http/origin-guard.js";
import type { OptionValues } from "./config-options.js";
import type { Machine } from "./machine.js";

type AuthMode = "public" | "signed" | "secret";

/** Assignable to KekSource of engine/custody/sealing. What is a secret in it is there until `forgetKek`. */
export type KekSetting =
  | { readonly kind: "file" | "passphrase-file"; readonly path: string }
  | { readonly kind: "environment"; hex: string }
  | { readonly kind: "passphrase"; passphrase: Uint8Array };

const NO_BYTES = new Uint8Array(0);

/**
 * Once the key was read: the configuration lives as long as the service, and holds no secret. The setting is refused
 * afterwards; zeros would be a passphrase that anybody can guess.
 */
export function forgetKek(setting: KekSetting | null): void {
  if (setting?.kind === "environment") setting.hex = "";
  if (setting?.kind !== "passphrase") return;
  setting.passphrase.fill(0);
  setting.passphrase = NO_BYTES;
}

export interface AccessConfig {
  readonly authMode: AuthMode;
  /** Null in public mode without one. */
  readonly kek: KekSetting | null;
  readonly formerKek: KekSetting | null;
  /** Null: plain HTTP. */
  readonly tls: { readonly certFile: string; readonly keyFile: string } | null;
  readonly trustedProxies: readonly string[];
  readonly allowedOrigins: readonly string[];
  /** "": in DATA_DIR. */
  readonly adminSocket: string;
  /** Path of the count beside the state store. */
  readonly instanceFile: string;
  /** Being on this machine proves an operator: only where no key is needed and no proxy stands before the service. */
  readonly trustsLoopback: boolean;
  /** Former names of options in use; reported at the start. */
  readonly renamedNames: readonly { readonly name: string; readonly meant: string }[];
}

type Profile = "start" | "serve";
type Values = Pick<
  OptionValues,
  | "HOST"
  | "DATA_DIR"
  | "AUTH_MODE"
  | "TLS"
  | "TLS_CERT_FILE"
  | "TLS_KEY_FILE"
  | "TRUSTED_PROXIES"
  | "ALLOWED_ORIGINS"
  | "CORS_ALLOW_ORIGIN"
  | "INSTANCE_FILE"
  | "ADMIN_SOCKET"
  | KekOption
>;
type KekForm = "FILE" | "HEX" | "PASSPHRASE_FILE" | "PASSPHRASE";
type KekOption = `KEK_${KekForm}` | `KEK_FORMER_${KekForm}`;

const PASSPHRASE_BYTES_MIN = 12;
const PASSPHRASE_BYTES_MAX = 1_024;

export function readAccess(values: Values, profile: Profile, machine: Machine, problems: string[]): AccessConfig {
  const authMode = authModeOf(values, profile);
  const needsKeys = profile === "serve" || authMode !== "public";
  if (needsKeys) checkNetwork(values, authMode, problems);
  else if (!isLoopback(values.HOST))
    problems.push(
      "HOST must be a loopback address (127.0.0.1, ::1 or localhost) while AUTH_MODE is public: anyone who reaches the port could trade",
    );
  if (profile === "serve") {
    if (authMode === "public")
      problems.push("AUTH_MODE=public lets anyone trade who reaches the port: set AUTH_MODE=signed, or leave it out");
    checkFolder(values.DATA_DIR, machine, problems);
  }
  const keks = readKeks(values, needsKeys, machine, problems);
  if (profile === "serve") checkApart(values.DATA_DIR, keks, machine, problems);
  const socket = socketPath(values.DATA_DIR, values.ADMIN_SOCKET);
  if (!socket.ok) problems.push(socket.problem);
  return {
    authMode,
    ...keks,
    tls: readTls(values, machine, problems),
    trustedProxies: readProxies(values, problems),
    ...readAllowedOrigins(values, profile, problems),
    adminSocket: values.ADMIN_SOCKET,
    instanceFile: readInstanceFile(values, machine, problems),
    trustsLoopback: !needsKeys && values.TRUSTED_PROXIES.length === 0,
  };
}

/** In the folder it would be put back with it. Links are followed. */
function readInstanceFile({ DATA_DIR, INSTANCE_FILE }: Values, machine: Machine, problems: string[]): string {
  const named = `${resolve(DATA_DIR)}.instance`;
  const path = INSTANCE_FILE === "" ? named : resolve(INSTANCE_FILE);
  const folder = machine.realPathOf(DATA_DIR);
  const place = `${machine.realPathOf(dirname(path))}${sep}`;
  const facts = machine.factsOf(path);
  if (machine.realPathOf(path) === folder)
    problems.push(`INSTANCE_FILE ${path} is DATA_DIR itself: name a file beside it, such as ${shellWord(named)}`);
  else if (place.startsWith(`${folder}${sep}`))
    problems.push(`INSTANCE_FILE ${path} must not be in DATA_DIR: a backup would have it`);
  else if (typeof facts === "string") {
    if (facts !== "ENOENT") problems.push(`INSTANCE_FILE ${path} cannot be looked at (${facts})`);
  } else if (facts.kind === "folder")
    problems.push(`INSTANCE_FILE ${path} is a folder: name a file, such as ${shellWord(`${path}/unwind.instance`)}`);
  return path;
}

export function authModeOf({ AUTH_MODE }: Pick<OptionValues, "AUTH_MODE">, profile: Profile): AuthMode {
  if (AUTH_MODE === "") return profile === "serve" ? "signed" : "public";
  return AUTH_MODE as AuthMode;
}

function checkNetwork(values: Values, authMode: AuthMode, problems: string[]): void {
  const speaksTls = values.TLS_CERT_FILE !== "" || values.TLS_KEY_FILE !== "";
  if (isLoopback(values.HOST) || speaksTls || values.TRUSTED_PROXIES.length > 0) return;
  if (authMode === "secret")
    problems.push(
      `AUTH_MODE=secret on HOST=${values.HOST} without TLS shows the secrets to the network: set TLS_CERT_FILE and TLS_KEY_FILE, or TRUSTED_PROXIES to the address of the proxy that speaks TLS, or AUTH_MODE=signed`,
    );
  if (values.TLS === "off-behind-proxy") return;
  problems.push(
    `HOST=${values.HOST} without TLS sends orders in the clear: set TLS_CERT_FILE and TLS_KEY_FILE, or TRUSTED_PROXIES to the address of the proxy that speaks TLS, or HOST=127.0.0.1, or TLS=off-behind-proxy where nobody else can reach the port`,
  );
}

/** The store holds sealed secrets and the key of the keyed hashes. A folder that does not exist is made for its owner alone. */
function checkFolder(path: string, machine: Machine, problems: string[]): void {
  const facts = machine.factsOf(path);
  if (typeof facts === "string") {
    if (facts !== "ENOENT") problems.push(`DATA_DIR ${path} cannot be looked at (${facts})`);
    return;
  }
  if (facts.kind !== "folder") problems.push(`DATA_DIR ${path} is no folder`);
  else if (machine.userId !== null && facts.userId !== machine.userId)
    problems.push(`DATA_DIR ${path} belongs to another user: chown -R ${machine.userId} ${shellWord(path)}`);
  else if ((facts.mode & 0o077) !== 0)
    problems.push(
      `DATA_DIR ${path} has mode ${octal(facts.mode)}, so others can look into it: chmod 700 ${shellWord(path)}`,
    );
}

function readKeks(values: Values, isNeeded: boolean, machine: Machine, problems: string[]) {
  const kek = readKek(values, "KEK_", machine, problems);
  const formerKek = readKek(values, "KEK_FORMER_", machine, problems);
  if (kek === null && formerKek !== null) problems.push("KEK_FORMER_* is set without a present key: set KEK_FILE too");
  else if (kek === null && isNeeded && !isKekNamed(values))
    problems.push(
      "there is no key to seal secrets with: set KEK_FILE to the path of the one that DATA_DIR was sealed with; for a new DATA_DIR make one with `(umask 077; openssl rand -hex 32 > kek)` and keep a copy away from this machine",
    );
  return { kek, formerKek };
}

/** A copy of the folder must not open what is sealed in it. Links are followed: the copy of a file counts, not its name. */
function checkApart(
  dataDir: string,
  { kek, formerKek }: Pick<AccessConfig, "kek" | "formerKek">,
  machine: Machine,
  problems: string[],
): void {
  const folder = machine.realPathOf(dataDir);
  const inside = folder.endsWith(sep) ? folder : folder + sep;
  for (const [prefix, setting] of [
    ["KEK_", kek],
    ["KEK_FORMER_", formerKek],
  ] as const) {
    if (setting?.kind !== "file" && setting?.kind !== "passphrase-file") continue;
    if (!machine.realPathOf(setting.path).startsWith(inside)) continue;
    const name = `${prefix}${setting.kind === "file" ? "FILE" : "PASSPHRASE_FILE"}`;
    problems.push(
      `${name} ${setting.path} is in DATA_DIR, so whoever copies that folder has what is sealed and its key: move it out, such as to ${shellWord(`${folder}.kek`)}`,
    );
  }
}

const KEK_FORMS: readonly KekForm[] = ["FILE", "HEX", "PASSPHRASE_FILE", "PASSPHRASE"];

function isKekNamed(values: Values): boolean {
  return KEK_FORMS.some((form) => values[`KEK_${form}`] !== "");
}

export function readKek(
  values: Pick<OptionValues, KekOption>,
  prefix: "KEK_" | "KEK_FORMER_",
  machine: Machine,
  problems: string[],
): KekSetting | null {
  const named = KEK_FORMS.filter((form) => values[`${prefix}${form}`] !== "");
  const [form] = named;
  if (form === undefined) return null;
  if (named.length > 1) {
    problems.push(`${named.map((one) => `${prefix}${one}`).join(" and ")} are set together: keep one of them`);
    return null;
  }
  const name = `${prefix}${form}` as const;
  const value = values[name];
  if (form === "HEX") {
    if (!/^[0-9a-fA-F]{64}$/.test(value)) problems.push(`${name} must be 64 hex digits`);
    return { kind: "environment", hex: value };
  }
  if (form === "PASSPHRASE") {
    const passphrase = Buffer.from(value, "utf8");
    if (passphrase.length < PASSPHRASE_BYTES_MIN || passphrase.length > PASSPHRASE_BYTES_MAX)
      problems.push(`${name} must be ${PASSPHRASE_BYTES_MIN} to ${PASSPHRASE_BYTES_MAX} bytes long`);
    return { kind: "passphrase", passphrase };
  }
  checkSecretFile(name, value, 0o077, "600", machine, problems);
  return { kind: form === "FILE" ? "file" : "passphrase-file", path: value };
}

/** `closed`: permission bits that may not be set. What is in the file is checked by who reads it. */
export function checkSecretFile(
  name: string,
  path: string,
  closed: number,
  shouldBe: string,
  machine: Machine,
  problems: string[],
): void {
  const facts = machine.factsOf(path);
  if (typeof facts === "string") problems.push(`${name} ${path} cannot be read (${facts})`);
  else if (facts.kind !== "file") problems.push(`${name} ${path} is no file`);
  else if ((facts.mode & closed) !== 0)
    problems.push(
      `${name} ${path} has mode ${octal(facts.mode)}, so others can read it: chmod ${shouldBe} ${shellWord(path)}`,
    );
  else if (!facts.isReadable)
    problems.push(
      `${name} ${path} cannot be read by this user${machine.userId === null ? "" : ` (${machine.userId})`}`,
    );
}

function readTls(values: Values, machine: Machine, problems: string[]): AccessConfig["tls"] {
  const { TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile } = values;
  if (certFile === "" && keyFile === "") return null;
  if (certFile === "" || keyFile === "") {
    problems.push("TLS_CERT_FILE and TLS_KEY_FILE must be set together");
    return null;
  }
  if (values.TLS === "off-behind-proxy")
    problems.push("TLS=off-behind-proxy and TLS_CERT_FILE are set together: keep one of them");
  checkSecretFile("TLS_CERT_FILE", certFile, 0, "644", machine, problems);
  // A group such as ssl-cert may share it.
  checkSecretFile("TLS_KEY_FILE", keyFile, 0o037, "640", machine, problems);
  return { certFile, keyFile };
}

function readProxies({ TRUSTED_PROXIES }: Values, problems: string[]): readonly string[] {
  for (const text of TRUSTED_PROXIES)
    if (!isAddressBlock(text))
      problems.push(`TRUSTED_PROXIES: ${JSON.stringify(text)} is no address or block such as 10.0.0.7 or 10.0.0.0/24`);
    else if (/\/0+$/.test(text))
      problems.push(`TRUSTED_PROXIES: ${text} is everyone, so anyone could name any address: name the proxy's own`);
  return TRUSTED_PROXIES;
}

function isAddressBlock(text: string): boolean {
  const [address = "", bits, ...rest] = text.split("/");
  const family = isIP(address);
  if (family === 0 || rest.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128));
}

function readAllowedOrigins(values: Values, profile: Profile, problems: string[]) {
  const { ALLOWED_ORIGINS: present, CORS_ALLOW_ORIGIN: former } = values;
  const isFormer = former.length > 0;
  if (isFormer && present.length > 0 && !sameTexts(present, former))
    problems.push("ALLOWED_ORIGINS and CORS_ALLOW_ORIGIN, its former name, differ: keep ALLOWED_ORIGINS");
  const name = isFormer && present.length === 0 ? "CORS_ALLOW_ORIGIN" : "ALLOWED_ORIGINS";
  const allowedOrigins = present.length > 0 ? present : former;
  for (const origin of allowedOrigins) {
    if (origin === "*" && profile === "serve")
      problems.push(`${name}: * lets any page read: name the origins, such as https://trade.example`);
    else if (origin !== "*" && !isOrigin(origin))
      problems.push(`${name}: ${JSON.stringify(origin)} is no origin such as https://trade.example, nor *`);
  }
  const renamedNames = isFormer ? [{ name: "CORS_ALLOW_ORIGIN", meant: "ALLOWED_ORIGINS" }] : [];
  return { allowedOrigins, renamedNames };
}

function sameTexts(left: readonly string[], right: readonly string[]): boolean {
  const given = new Set(left);
  return given.size === new Set(right).size && right.every((text) => given.has(text));
}

function octal(mode: number): string {
  return mode.toString(8).padStart(4, "0");
}

/** As it can be pasted into a shell. */
function shellWord(text: string): string {
  return /^[A-Za-z0-9_./-]+$/.test(text) && !text.startsWith("-") ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
