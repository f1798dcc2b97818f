/** Reads credentials by venue from the fields of the account form. Problems name the field, never its content. */
import type { Credentials } from "./close-ticket.js";
import { KEY_FIELDS, type KeyField, VENUES, type VenueName } from "./venues.js";

export type AccountFields = Readonly<Record<string, string>>;

export type AccountRead =
  | { readonly ok: true; readonly account: { readonly walletAddress: string; readonly credentials: Credentials } }
  | Refused;

interface Refused {
  readonly ok: false;
  readonly problem: string;
}

type Block = Readonly<Record<string, string | number>>;

const ADDRESS = /^0x[0-9a-fA-F]{40}$/;
const INDEX = /^(0|[1-9][0-9]{0,14})$/;

/** As the form calls a venue's field. */
export function fieldName(venue: VenueName, { name }: KeyField): string {
  return `${venue}.${name}`;
}

export function readAccountFields(fields: AccountFields): AccountRead {
  const walletAddress = (fields["walletAddress"] ?? "").trim();
  if (!ADDRESS.test(walletAddress)) return refused("The wallet address is 0x and 40 hex digits.");
  const blocks: Partial<Record<VenueName, Block>> = {};
  for (const venue of VENUES) {
    const read = readBlock(venue, fields);
    if (!read.ok) return read;
    if (read.block !== null) blocks[venue] = read.block;
  }
  // The service checks each block against its schema, of which these are the fields.
  return { ok: true, account: { walletAddress, credentials: blocks as Credentials } };
}

/** Null means that nothing was entered. */
function readBlock(
  venue: VenueName,
  fields: AccountFields,
): { readonly ok: true; readonly block: Block | null } | Refused {
  const entered = KEY_FIELDS[venue].map((field) => ({ field, text: (fields[fieldName(venue, field)] ?? "").trim() }));
  const required = entered.filter(({ field }) => field.isRequired);
  const missing = required.filter(({ text }) => text === "").length;
  if (missing === required.length) return { ok: true, block: null };
  if (missing > 0) return refused(`${venue} needs ${required.map(({ field }) => `its ${field.said}`).join(" and ")}.`);
  const block: Record<string, string | number> = {};
  for (const { field, text } of entered) {
    if (text === "") continue;
    if (field.kind === "index" && !isIndex(text, field.max)) {
      const bound = field.max === undefined ? "" : ` up to ${field.max}`;
      return refused(`The ${field.said} of ${venue} is a whole number${bound}.`);
    }
    block[field.name] = field.kind === "index" ? Number(text) : text;
  }
  return { ok: true, block };
}

function isIndex(text: string, max = Number.MAX_SAFE_INTEGER): boolean {
  return INDEX.test(text) && Number(text) <= max;
}

function refused(problem: string): Refused {
  return { ok: false, problem };
}
