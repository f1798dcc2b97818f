/**
 * The count of an instance, as it is kept in the state store, in a file beside the data folder, and with the co-signer.
 * Pure: what the three say together (docs/adr/0032).
 *
 * Invariant: the count outside never exceeds what the store holds durably, unless the store was put back.
 */

/** What is kept outside the store. */
export interface InstanceCount {
  /** 32 hex digits: of the store that counted. */
  readonly id: string;
  readonly count: number;
}

export type RestoredReason =
  /** The file has counted further than the store. */
  | "FILE_AHEAD"
  /** The co-signer has. */
  | "COSIGNER_AHEAD"
  /** The file is another store's, or the co-signer has counted as far with another one. */
  | "OTHER_INSTANCE"
  /** The store has counted, and its file is gone. */
  | "FILE_MISSING"
  /** There is a file that says nothing. */
  | "FILE_UNREADABLE";

export interface Restored {
  readonly reason: RestoredReason;
  /** When it was seen, wall ms. */
  readonly sinceMs: number;
  /** When the store counted last, wall ms: what was done since is not in it. Null: it never counted. */
  readonly storeAtMs: number | null;
}

/** The row of the store. */
export interface InstanceMark extends InstanceCount {
  /** Of this count, wall ms. */
  readonly atMs: number;
  /** The file was written once, so it may not be missing. */
  readonly hasFile: boolean;
  /** The co-signer was handed none above it: what it has beyond, another store counted. */
  readonly told: number;
  /** Until the operator releases it. */
  readonly restored: Restored | null;
}

export type FileReading =
  | { readonly kind: "count"; readonly value: InstanceCount }
  | { readonly kind: "missing" }
  | { readonly kind: "unreadable" };

/** Null: nothing says that the store was put back. */
export function judgeFile(mark: InstanceMark | null, file: FileReading): RestoredReason | null {
  switch (file.kind) {
    case "unreadable":
      return "FILE_UNREADABLE";
    case "missing":
      return mark?.hasFile === true ? "FILE_MISSING" : null;
    default:
      // No file of the store's own ever held another id, however far that has counted.
      return (
        judgeCount(mark, file.value, "FILE_AHEAD") ?? (file.value.id === mark?.id ? null : ("OTHER_INSTANCE" as const))
      );
  }
}

/** `mark` null: a store that never counted is behind whatever has. */
export function judgeCount(
  mark: InstanceCount | null,
  outside: InstanceCount,
  ahead: "FILE_AHEAD" | "COSIGNER_AHEAD",
): RestoredReason | null {
  if (mark === null || outside.count > mark.count) return ahead;
  return outside.count === mark.count && outside.id !== mark.id ? "OTHER_INSTANCE" : null;
}

const ID = /^[0-9a-f]{32}$/;

/** Null: it is no count. */
export function readCount(value: unknown): InstanceCount | null {
  if (typeof value !== "object" || value === null) return null;
  const { id, count } = value as Readonly<Record<string, unknown>>;
  if (typeof id !== "string" || !ID.test(id) || typeof count !== "number") return null;
  return Number.isSafeInteger(count) && count >= 0 ? { id, count } : null;
}

const REASONS: readonly string[] = [
  "FILE_AHEAD",
  "COSIGNER_AHEAD",
  "OTHER_INSTANCE",
  "FILE_MISSING",
  "FILE_UNREADABLE",
] satisfies readonly RestoredReason[];

/** Null: the row cannot be read. */
export function readMark(value: unknown): InstanceMark | null {
  const counted = readCount(value);
  if (counted === null) return null;
  const { atMs, hasFile, restored, told = counted.count } = value as Readonly<Record<string, unknown>>;
  if (!Number.isSafeInteger(atMs) || typeof hasFile !== "boolean" || !Number.isSafeInteger(told)) return null;
  const since = restored === null ? null : readRestored(restored);
  if (restored !== null && since === null) return null;
  return { ...counted, atMs: atMs as number, hasFile, told: told as number, restored: since };
}

function readRestored(value: unknown): Restored | null {
  if (typeof value !== "object" || value === null) return null;
  const { reason, sinceMs, storeAtMs } = value as Readonly<Record<string, unknown>>;
  if (typeof reason !== "string" || !REASONS.includes(reason) || !Number.isSafeInteger(sinceMs)) return null;
  if (storeAtMs !== null && !Number.isSafeInteger(storeAtMs)) return null;
  return { reason: reason as RestoredReason, sinceMs: sinceMs as number, storeAtMs: storeAtMs as number | null };
}
