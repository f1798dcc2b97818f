/**
 * Who owns what callers make: the owner of their API key, or null where it was made without a key. Rows without an owner
 * belong to `local`, or to the one owner that adopted them.
 *
 * Invariant: a caller reaches its own rows, and those without an owner if it adopted them or has no key itself. Whatever
 * else exists is to it as if it did not.
 */

/** Shown as the owner of rows that were made without a key and that nobody adopted. No key has it. */
export const LOCAL_OWNER = "local";

/** Which owner took over the rows of public mode. Durable before anybody can ask as that owner. */
export interface LocalAdoption {
  /** Null while nobody did. */
  adoptedBy(): string | null;
}

export const NOT_ADOPTED: LocalAdoption = { adoptedBy: () => null };

const PUBLIC_ROWS: readonly null[] = [null];

export class Owners {
  readonly #adoption: LocalAdoption;

  constructor(adoption: LocalAdoption = NOT_ADOPTED) {
    this.#adoption = adoption;
  }

  /** `rowOwner`: as the row has it; absent and null mean made without a key. */
  effectiveOwner(rowOwner: string | null | undefined): string {
    return rowOwner ?? this.#adoption.adoptedBy() ?? LOCAL_OWNER;
  }

  reaches(ownerId: string | null, rowOwner: string | null | undefined): boolean {
    const owner = rowOwner ?? null;
    return owner === ownerId || (owner === null && this.#hasAdopted(ownerId));
  }

  /** The owners whose rows the caller reaches, itself first. */
  reachedBy(ownerId: string | null): readonly (string | null)[] {
    if (ownerId === null) return PUBLIC_ROWS;
    return this.#hasAdopted(ownerId) ? [ownerId, null] : [ownerId];
  }

  /** The owners whose rows are, in effect, those of the same one: what is unique for an owner is unique among them. */
  sameAs(ownerId: string | null): readonly (string | null)[] {
    const adopter = this.#adoption.adoptedBy();
    return adopter !== null && (ownerId === null || ownerId === adopter) ? [adopter, null] : [ownerId];
  }

  #hasAdopted(ownerId: string | null): boolean {
    return ownerId !== null && this.#adoption.adoptedBy() === ownerId;
  }
}
