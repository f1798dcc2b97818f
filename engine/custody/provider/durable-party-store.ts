/**
 * PartyStore over the state store: one batch for each commit, so a kill leaves all of it or nothing.
 *
 * Invariants of what is written, whoever asks: the ctr of a wallet and its active epoch never fall; every epoch that a
 * state row names has its share row, and no other has one; a share row is never written over. A rotation of the KEK may
 * rewrap share rows beside: a commit only adds rows that are absent and removes rows, so it puts no older value back.
 */
import { ServiceError } from "../../domain/errors.js";
import type { StateBatch, StateCondition, StateRow as StoredRow, StateStore } from "../../storage/state-store.js";
import { isSame } from "../mpc/base/bits.js";
import { encodeStateRow, type StateRow } from "../mpc/state/state-row.js";
import type { EpochName, PartyCommit, PartyStore, StoredParty, StoredShare } from "./party-store.js";
import {
  encodeShareRow,
  readShareKey,
  readShareName,
  readShareRow,
  readStateRow,
  SHARE_NAMESPACE,
  shareKey,
  sharePrefix,
  STATE_NAMESPACE,
  stateKey,
  unreadable,
} from "./share-row.js";

/** A row of a share is 25 kB. */
const PAGE_ROWS = 64;
/** Active, prepared and kept at most; one more is a store that cannot be read. */
const EPOCHS_MAX = 3;
/** Rows of a caller's in a commit. */
export const BESIDE_MAX = 32;

export class DurablePartyStore implements PartyStore {
  readonly #store: StateStore;

  constructor(store: StateStore) {
    this.#store = store;
  }

  /** Rejects with STORE_UNAVAILABLE, context `row`: the name of the row that cannot be read, or is missing. */
  async load(): Promise<readonly StoredParty[]> {
    const epochs = new Map<string, EpochName[]>();
    for await (const row of this.#rows(SHARE_NAMESPACE)) {
      const key = stateKey(readShareKey(row.key).walletId);
      const known = epochs.get(key) ?? [];
      known.push(readShareName(row));
      epochs.set(key, known);
    }
    const parties: StoredParty[] = [];
    for await (const stored of this.#rows(STATE_NAMESPACE)) {
      const row = readStateRow(stored);
      const walletId = Buffer.from(stored.key, "hex");
      const names = epochs.get(stored.key) ?? [];
      epochs.delete(stored.key);
      assertWhole(walletId, row, names);
      parties.push({ walletId, row, epochs: names });
    }
    // A share without a state row: the freeze of a wallet may have been in the row that is gone.
    for (const key of epochs.keys()) throw unreadable(STATE_NAMESPACE, key);
    return parties;
  }

  /** One commit of a wallet at a time: of two at once one rejects, INTERNAL. */
  async commit(commit: PartyCommit): Promise<void> {
    const { walletId, row, put, erase, beside } = commit;
    assertBounds(commit);
    const key = stateKey(walletId);
    const former = await this.#store.get(STATE_NAMESPACE, key);
    if (row !== null) assertFollows(former === null ? null : readStateRow({ key, value: former }), row, commit);
    const gone = row === null ? await this.#epochsOf(walletId) : erase;
    const conditions: StateCondition[] = [{ namespace: STATE_NAMESPACE, key, expected: former }];
    if (put !== null)
      conditions.push({ namespace: SHARE_NAMESPACE, key: shareKey(walletId, put.epoch), expected: null });
    const batch: StateBatch = {
      conditions,
      writes: [
        { namespace: STATE_NAMESPACE, key, value: row === null ? null : encodeStateRow(row) },
        ...gone.map((epoch) => ({ namespace: SHARE_NAMESPACE, key: shareKey(walletId, epoch), value: null })),
        ...(put === null
          ? []
          : [{ namespace: SHARE_NAMESPACE, key: shareKey(walletId, put.epoch), value: encodeShareRow(put) }]),
        ...beside,
      ],
    };
    if (!(await this.#store.commit(batch))) throw misuse("a row of the wallet changed under a commit, or exists");
  }

  async share(walletId: Uint8Array, epoch: number): Promise<StoredShare | null> {
    const key = shareKey(walletId, epoch);
    const value = await this.#store.get(SHARE_NAMESPACE, key);
    return value === null ? null : readShareRow({ key, value });
  }

  async #epochsOf(walletId: Uint8Array): Promise<number[]> {
    const rows = await this.#store.scan(SHARE_NAMESPACE, { prefix: sharePrefix(walletId), limit: EPOCHS_MAX + 1 });
    if (rows.length > EPOCHS_MAX) throw unreadable(SHARE_NAMESPACE, sharePrefix(walletId));
    return rows.map(({ key }) => readShareKey(key).epoch);
  }

  async *#rows(namespace: string): AsyncGenerator<StoredRow> {
    let after: string | null = null;
    while (true) {
      const page: StoredRow[] = await this.#store.scan(namespace, {
        ...{ prefix: "", limit: PAGE_ROWS },
        ...(after === null ? {} : { after }),
      });
      yield* page;
      const last = page.at(-1);
      if (last === undefined || page.length < PAGE_ROWS) return;
      after = last.key;
    }
  }
}

/** Every epoch that the row names has a share of one and the same key, and no other epoch has one. */
function assertWhole(walletId: Uint8Array, row: StateRow, names: readonly EpochName[]): void {
  const named = epochsNamed(row);
  for (const epoch of named)
    if (!names.some((name) => name.epoch === epoch)) throw unreadable(SHARE_NAMESPACE, shareKey(walletId, epoch));
  const [first] = names;
  for (const { epoch, publicKey } of names) {
    const isOfWallet = first !== undefined && isSame(publicKey, first.publicKey);
    if (!named.includes(epoch) || !isOfWallet) throw unreadable(SHARE_NAMESPACE, shareKey(walletId, epoch));
  }
}

/** Rows that `load` would refuse are never written. */
function assertFollows(former: StateRow | null, row: StateRow, { put, erase }: PartyCommit): void {
  if (former !== null && row.ctr < former.ctr) throw misuse("ctr only grows");
  if (former !== null && row.activeEpoch < former.activeEpoch) throw misuse("the active epoch only grows");
  const kept = new Set(former === null ? [] : epochsNamed(former));
  for (const epoch of erase) kept.delete(epoch);
  if (put !== null) kept.add(put.epoch);
  const named = epochsNamed(row);
  if (named.length !== kept.size || named.some((epoch) => !kept.has(epoch)))
    throw misuse("the state row names other epochs than there are shares");
}

function epochsNamed({ activeEpoch, preparedEpoch, keptEpoch }: StateRow): number[] {
  return [activeEpoch, preparedEpoch, keptEpoch].filter((epoch) => epoch !== 0);
}

function assertBounds({ row, put, erase, beside }: PartyCommit): void {
  if (row === null && put !== null) throw misuse("a share of a wallet that goes");
  if (erase.length > EPOCHS_MAX || beside.length > BESIDE_MAX) throw misuse("size of a commit");
  if (put !== null && erase.includes(put.epoch)) throw misuse("an epoch put and erased at once");
  const isOwn = ({ namespace }: { readonly namespace: string }) =>
    namespace === SHARE_NAMESPACE || namespace === STATE_NAMESPACE;
  if (beside.some(isOwn)) throw misuse("a row of a party among the rows beside");
}

/** Our own bug: it must not be written. */
function misuse(problem: string): ServiceError {
  return new ServiceError("INTERNAL", { problem: `custody store: ${problem}` });
}
