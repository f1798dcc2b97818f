/** What may be asked of the administration of keys. All faults of a wish are named at once; none changes anything. */
import { ServiceError } from "../../engine/domain/errors.js";
import { LOCAL_OWNER } from "../../engine/domain/owner.js";
import { SCOPES, type Scope } from "../../schemas/operation.js";
import { IP_LIST_MAX, IpList } from "./ip-list.js";
import type { KeyWish } from "./key-admin.js";

const LABEL_CHARS_MAX = 64;
/** Letters, marks, digits, punctuation, symbols and single blanks: no control, direction or invisible characters. */
const LABEL = /^(?:[\p{L}\p{M}\p{N}\p{P}\p{S}]+(?: [\p{L}\p{M}\p{N}\p{P}\p{S}]+)*)?$/u;
/** A secret of ours, or anything as long, such as 32 bytes in hex: labels and owners are shown in lists and in the audit log. */
const SECRET_LIKE = /(?<![0-9A-Za-z])sk_[0-9A-Za-z]|[0-9A-Za-z]{40}/;
/** It is part of keys of stored rows, in file names and in shells. */
const OWNER_ID = /^[0-9A-Za-z][0-9A-Za-z_-]{0,63}$/;
/** Long enough to change every program; a secret that lives longer was not rotated. */
export const OVERLAP_MAX_MS = 7 * 24 * 3_600_000;

interface Fault {
  readonly path: string;
  readonly problem: string;
}

export interface CheckedWish {
  readonly ownerId: string | null;
  readonly label: string;
  /** In the order of SCOPES, each once. */
  readonly scopes: readonly Scope[];
  readonly ips: IpList;
  readonly adoptLocal: boolean;
}

/** Throws INVALID_PARAMETERS. */
export function checkWish(wish: KeyWish): CheckedWish {
  const faults: Fault[] = [];
  const label = wish.label.normalize("NFC");
  if (label.length > LABEL_CHARS_MAX || !LABEL.test(label))
    faults.push({ path: "label", problem: `must be at most ${LABEL_CHARS_MAX} printable characters` });
  else if (SECRET_LIKE.test(label)) faults.push({ path: "label", problem: "looks like a key" });
  if (wish.ownerId !== null) faults.push(...ownerFaults(wish.ownerId));
  if (wish.scopes.length === 0) faults.push({ path: "scopes", problem: `must name one of ${SCOPES.join(", ")}` });
  for (const scope of wish.scopes)
    if (!SCOPES.includes(scope)) faults.push({ path: "scopes", problem: `must be of ${SCOPES.join(", ")}` });
  const ips = wish.ips.length > IP_LIST_MAX ? 0 : IpList.parse(wish.ips);
  if (wish.ips.length > IP_LIST_MAX) faults.push({ path: "ips", problem: `must be at most ${IP_LIST_MAX}` });
  else if (typeof ips === "number")
    faults.push({ path: `ips[${ips}]`, problem: "must be an IPv4 or IPv6 address, or a CIDR block without host bits" });
  if (faults.length > 0 || typeof ips === "number") throw new ServiceError("INVALID_PARAMETERS", { fields: faults });
  const scopes = SCOPES.filter((scope) => wish.scopes.includes(scope));
  return { ownerId: wish.ownerId, label, scopes, ips, adoptLocal: wish.adoptLocal };
}

/** Throws INVALID_PARAMETERS. */
export function checkOverlap(overlapMs: number): void {
  if (Number.isInteger(overlapMs) && overlapMs >= 0 && overlapMs <= OVERLAP_MAX_MS) return;
  const problem = `must be 0 to ${OVERLAP_MAX_MS} whole milliseconds`;
  throw new ServiceError("INVALID_PARAMETERS", { fields: [{ path: "overlapMs", problem }] });
}

function ownerFaults(ownerId: string): Fault[] {
  if (ownerId.toLowerCase() === LOCAL_OWNER)
    return [{ path: "ownerId", problem: `${LOCAL_OWNER} is the owner of what was made without a key` }];
  // Stored in the clear and shown in lists.
  if (SECRET_LIKE.test(ownerId)) return [{ path: "ownerId", problem: "looks like a key" }];
  if (OWNER_ID.test(ownerId)) return [];
  return [{ path: "ownerId", problem: "must be 1 to 64 letters, digits, _ or -, and begin with a letter or a digit" }];
}
