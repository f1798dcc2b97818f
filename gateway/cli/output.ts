/**
 * What `unwind` prints: columns for people, or one JSON document a line with `--json`. Text of a caller, such as a label,
 * cannot move the cursor of a terminal. Pure.
 */
import type { Difference, UncomparedPart, UnreadPart } from "../../engine/transfers/reconcile/report.js";
import type { AuditPage } from "../auth/audit.js";
import type { KeyView, NewSecret } from "../auth/key-admin.js";
import type { WalletLine } from "../admin/wallet-admin.js";
import type { MadeCertificate, UsedCertificate } from "../custody/certificate-change.js";
import type { PartyName } from "../custody/party-names.js";
import type { MadeParty } from "../custody/party-setup.js";

const NEVER = "-";

export function secretText({ key, secret }: NewSecret): string {
  const rows: [string, string][] = [
    ["key", key.keyId],
    ["owner", key.ownerId],
    ["scopes", key.scopes.join(",")],
    ["addresses", key.ips.length === 0 ? "any" : key.ips.join(", ")],
    ...(key.formerSecretUntilMs === null
      ? []
      : [["former secret until", timeText(key.formerSecretUntilMs)] as [string, string]]),
    ["secret", secret],
  ];
  return `${rows.map(([name, value]) => `${name.padEnd(20)}${printable(value)}`).join("\n")}\n\nThe secret is shown this once: store it now.\n`;
}

export function keysText(keys: readonly KeyView[]): string {
  if (keys.length === 0) return "no keys\n";
  return table(
    ["key", "owner", "scopes", "addresses", "state", "created", "last used", "label"],
    keys.map((key) => [
      key.keyId,
      key.ownerId,
      key.scopes.join(","),
      key.ips.length === 0 ? "any" : key.ips.join(","),
      key.revokedAtMs === null ? "live" : "revoked",
      timeText(key.createdAtMs),
      timeText(key.lastUsedAtMs),
      key.label,
    ]),
  );
}

export function auditText({ rows, nextCursor }: AuditPage): string {
  if (rows.length === 0) return "no rows\n";
  const text = table(
    ["time", "who", "what", "subject", "outcome", "details"],
    rows.map(({ atMs, who, what, subject, outcome, details }) => [
      timeText(atMs),
      who,
      what,
      subject === "" ? NEVER : subject,
      outcome,
      Object.entries(details)
        .map(([name, value]) => `${name}=${String(value)}`)
        .join(" "),
    ]),
  );
  return nextCursor === null ? text : `${text}\nmore: --cursor ${printable(nextCursor)}\n`;
}

export function walletsText(wallets: readonly WalletLine[]): string {
  if (wallets.length === 0) return "no wallets\n";
  return table(
    ["wallet", "address", "owner", "user", "state", "epoch"],
    wallets.map(({ walletId, address, ownerId, userId, state, epoch }) => [
      ...[walletId, address ?? NEVER, ownerId ?? NEVER, userId ?? NEVER, state],
      epoch === 0 ? NEVER : String(epoch),
    ]),
  );
}

export function differencesText(differences: readonly Difference[]): string {
  return table(
    ["difference", "wallet", "at", "time", "transfer", "what"],
    differences.map(({ kind, walletId, part, atMs, transferId, text }) => [
      ...[kind, walletId, part, timeText(atMs), transferId ?? NEVER, text],
    ]),
  );
}

export function unreadText(unread: readonly UnreadPart[]): string {
  return table(
    ["not read", "wallet", "why"],
    unread.map(({ part, walletId, code }) => [part, walletId ?? NEVER, code]),
  );
}

export function uncomparedText(uncompared: readonly UncomparedPart[]): string {
  return table(
    ["not compared", "wallet", "transactions"],
    uncompared.map(({ part, walletId, transactions }) => [part, walletId, String(transactions)]),
  );
}

/** What was made, and what its operator does next. */
export function partiesText(made: unknown): string {
  const { service, cosigner } = made as Readonly<Record<PartyName, MadeParty>>;
  const offline = [service, cosigner].flatMap(({ backupPrivateFile }) => backupPrivateFile ?? []);
  const steps = [
    ...(offline.length === 0
      ? []
      : [
          `Carry ${offline.join(" and ")} away to two different people, and delete them here: with the backups of both sides they open every key.`,
        ]),
    "Give the service a key-encryption key of its own (KEK_FILE); the co-signer has one in its folder.",
    `Set CUSTODY_DIR=${service.directory} and start the service. It starts the co-signer beside itself.`,
    `Or move ${cosigner.directory} to another host, set host and port in its party.json, run \`unwind cosigner <folder>\` there, and set COSIGNER_URL.`,
    "Write the co-signer's policy.json before anything but messages is to be signed (docs/custody.md).",
  ];
  return `${fieldsText({ service, cosigner })}\n${nextText(steps)}`;
}

/** The pins, and what the operators do next: in this order the two parties can talk after each step. */
export function certificateText(change: MadeCertificate | UsedCertificate, folder: string): string {
  const away = (pin: string) => `Take ${pin} out of peerPins of the other party, and start that party again.`;
  const steps =
    "formerPin" in change
      ? ["Start this party again.", away(change.formerPin)]
      : [
          `Add ${change.nextPin} to peerPins in the party.json of the other party, beside ${change.pin}, and start that party again.`,
          `\`unwind custody certificate ${folder} --use\`, and start this party again.`,
          away(change.pin),
        ];
  return `${fieldsText(change)}\n${nextText(steps)}`;
}

function nextText(steps: readonly string[]): string {
  return `Next:\n${steps.map((step, at) => `${at + 1}. ${printable(step)}\n`).join("")}`;
}

/** Name and value of each member, those within a member too. */
export function fieldsText(value: object): string {
  const rows = fieldsOf(value, "");
  const width = Math.max(...rows.map(([name]) => name.length)) + 2;
  return rows.map(([name, text]) => `${name.padEnd(width)}${printable(text)}\n`).join("");
}

function fieldsOf(value: object, prefix: string): [name: string, text: string][] {
  return Object.entries(value).flatMap(([name, member]: [string, unknown]): [string, string][] => {
    if (typeof member === "object" && member !== null && !Array.isArray(member))
      return fieldsOf(member, `${prefix}${name}.`);
    return [[prefix + name, name.endsWith("Ms") && typeof member === "number" ? timeText(member) : String(member)]];
  });
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const shown = [head, ...rows].map((row) => row.map(printable));
  const widths = head.map((_, column) => Math.max(...shown.map((row) => row[column]?.length ?? 0)));
  return shown
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .map((line) => `${line}\n`)
    .join("");
}

function timeText(atMs: number | null): string {
  if (atMs === null) return NEVER;
  const time = new Date(atMs);
  return Number.isNaN(time.getTime()) ? NEVER : time.toISOString();
}

/** Control characters, and those that turn the direction of text, as `?`. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, "?");
}
