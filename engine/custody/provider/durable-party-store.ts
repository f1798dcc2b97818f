/**
 * PartyStore over the state store: one batch for each commit, so a kill leaves all of it or nothing.
 *
 * Invariants of what is written, whoever asks: the ctr of a wallet and its active epoch never fall; every epoch that a
 * state row names has its share row and its epoch row, which say the same, and no other has one; neither is ever
 * written over. Where one of the two is missing, it is refused by name where it is met: a load meets epoch rows alone.
 * A rotation of the KEK may rewrap share rows beside: a commit only adds rows that are absent and removes rows, so it
 * puts no older value back.
 */
import { ServiceError } from "../../domain/errors.js";
import {
  allRows,
  type StateBatch,
  type StateCondition,
  type StateRow as StoredRow,
  type StateStore,
  type StateWrite,
} from "../../storage/state-store.js";
import { isSame } from "../mpc/base/bits.js";
import { encodeStateRow, type StateRow } from "../mpc/state/state-row.js";
import type { EpochName, PartyCommit, PartyStore, StoredParty, StoredShare } from "./party-store.js";
import {
  encodeEpochRow,
  encodeShareRow,
  EPOCH_NAMESPACE,
  readEpochRow,
  readShareKey,
  readShareRow,
  readStateRow,
  SHARE_NAMESPACE,
  shareKey,
  sharePrefix,
  STATE_NAMESPACE,
  stateKey,
  unreadable,
} from "./share-row.js";

/** Active, prepared and kept at most; one more is a store that cannot be read. */
const EPOCHS_MAX = 3;
const OWN_NAMESPACES = [SHARE_NAMESPACE, EPOCH_NAMESPACE, STATE_NAMESPACE];
/** Rows of a caller's in a commit. */
export const BESIDE_MAX = 32;

export class DurablePartyStore implements PartyStore {
  readonly #store: StateStore;

  constructor(store: StateStore) {
    this.#store = store;
  }

  /**
   * Reads no share row. Rejects with STORE_UNAVAILABLE, context `row`: the name of the row that cannot be read, or is
   * missing.
   */
  async load(): Promise<readonly StoredParty[]> {
    const epochs = new Map<string, EpochName[]>();
    for await (const row of allRows(this.#store, EPOCH_NAMESPACE)) {
      const key = stateKey(readShareKey(row.key, EPOCH_NAMESPACE).walletId);
      const known = epochs.get(key) ?? [];
      known.push(readEpochRow(row));
      epochs.set(key, known);
    }
    const parties: StoredParty[] = [];
    for await (const stored of allRows(this.#store, STATE_NAMESPACE)) {
      const row = readStateRow(stored);
      const walletId = Buffer.from(stored.key, "hex");
      const names = epochs.get(stored.key) ?? [];
      epochs.delete(stored.key);
      assertWhole(walletId, row, names);
      parties.push({ walletId, row, epochs: names });
    }
    // An epoch without a state row: the freeze of a wallet may have been in the row that is gone.
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
      for (const { namespace, key } of rowsOf(walletId, put)) conditions.push({ namespace, key, expected: null });
    const batch: StateBatch = {
      conditions,
      writes: [
        { namespace: STATE_NAMESPACE, key, value: row === null ? null : encodeStateRow(row) },
        ...gone.flatMap((epoch) => rowsGone(walletId, epoch)),
        ...(put === null ? [] : rowsOf(walletId, put)),
        ...beside,
      ],
    };
    if (await this.#store.commit(batch)) return;
    // Rejects with the name of the other row where only one of an epoch is there.
    if (put !== null) await this.share(walletId, put.epoch);
    throw misuse("a row of the wallet changed under a commit, or exists");
  }

  /** Not beside a commit of the same wallet. Rejects with STORE_UNAVAILABLE where share row and epoch row differ. */
  async share(walletId: Uint8Array, epoch: number): Promise<StoredShare | null> {
    const key = shareKey(walletId, epoch);
    const [share, name] = await Promise.all([
      this.#store.get(SHARE_NAMESPACE, key),
      this.#store.get(EPOCH_NAMESPACE, key),
    ]);
    return pairOf(key, share, name);
  }

  /** Of a wallet that goes: no share may stay behind. */
  async #epochsOf(walletId: Uint8Array): Promise<number[]> {
    const of = { prefix: sharePrefix(walletId), limit: EPOCHS_MAX + 1 };
    const [shares, names] = await Promise.all([
      this.#store.scan(SHARE_NAMESPACE, of),
      this.#store.scan(EPOCH_NAMESPACE, of),
    ]);
    if (shares.length > EPOCHS_MAX) throw unreadable(SHARE_NAMESPACE, sharePrefix(walletId));
    const valueIn = (rows: readonly StoredRow[], key: string) => rows.find((row) => row.key === key)?.value ?? null;
    const keys = new Set([...shares, ...names].map(({ key }) => key));
    for (const key of keys) pairOf(key, valueIn(shares, key), valueIn(names, key));
    return [...keys].map((key) => readShareKey(key).epoch);
  }
}

function rowsOf(walletId: Uint8Array, share: StoredShare): StateWrite[] {
  const key = shareKey(walletId, share.epoch);
  return [
    { namespace: SHARE_NAMESPACE, key, value: encodeShareRow(share) },
    { namespace: EPOCH_NAMESPACE, key, value: encodeEpochRow(share) },
  ];
}

function rowsGone(walletId: Uint8Array, epoch: number): StateWrite[] {
  const key = shareKey(walletId, epoch);
  return [SHARE_NAMESPACE, EPOCH_NAMESPACE].map((namespace) => ({ namespace, key, value: null }));
}

/** Share row and epoch row of one key; null: neither is there. Throws STORE_UNAVAILABLE with the name of a row. */
function pairOf(key: string, share: Uint8Array | null, name: Uint8Array | null): StoredShare | null {
  if (share === null && name === null) return null;
  if (share === null) throw unreadable(SHARE_NAMESPACE, key);
  if (name === null) throw unreadable(EPOCH_NAMESPACE, key);
  const [stored, { tag, publicKey }] = [readShareRow({ key, value: share }), readEpochRow({ key, value: name })];
  // Which of the two is the right one, only the sealed record knows.
  if (!isSame(stored.tag, tag) || !isSame(stored.publicKey, publicKey)) throw unreadable(SHARE_NAMESPACE, key);
  return stored;
}

/** Every epoch that the row names has an epoch row of one and the same key, and no other epoch has one. */
function assertWhole(walletId: Uint8Array, row: StateRow, names: readonly EpochName[]): void {
  const named = epochsNamed(row);
  for (const epoch of named)
    if (!names.some((name) => name.epoch === epoch)) throw unreadable(EPOCH_NAMESPACE, shareKey(walletId, epoch));
  const [first] = names;
  for (const { epoch, publicKey } of names) {
    const isOfWallet = first !== undefined && isSame(publicKey, first.publicKey);
    if (!named.includes(epoch) || !isOfWallet) throw unreadable(EPOCH_NAMESPACE, shareKey(walletId, epoch));
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
  if (beside.some(({ namespace }) => OWN_NAMESPACES.includes(namespace)))
    throw misuse("a row of a party among the rows beside");
}

/** Our own bug: it must not be written. */
function misuse(problem: string): ServiceError {
  return new ServiceError("INTERNAL", { problem: `custody store: ${problem}` });
}
