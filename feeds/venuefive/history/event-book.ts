/**
 * The index in the state store. Invariants: what is shown is of blocks up to the cursor; rows above it are left over from a
 * commit that was not the last of its block, or from blocks that vanished, and are removed before anything is written. A
 * block's events and the cursor that has passed it are one commit, or the cursor comes with the last of them. So a kill at
 * any point loses no event and doubles none.
 *
 * Bounds: a commit has MAX_BATCH_ROWS writes at most; no read of it holds more than a page.
 */
import {
  decodeJson,
  encodeJson,
  MAX_BATCH_ROWS,
  MAX_SCAN_ROWS,
  type StateStore,
  type StateWrite,
} from "../../../engine/storage/state-store.js";
import {
  type Checkpoint,
  decodeCursor,
  encodeCursor,
  firstCursor,
  type IndexCursor,
  movedTo,
  takenBack,
} from "./cursor.js";
import { endsOrder, isOfOrder, type OrderEvent, type VenuefiveEvent } from "./event.js";
import {
  afterBlock,
  CURSOR_NAMESPACE,
  EVENT_NAMESPACE,
  type KeptEvent,
  LIST_NAMESPACE,
  type Place,
  placeOf,
  type RowKeys,
} from "./row-keys.js";

/** One is the cursor's. */
const WRITES_MAX = MAX_BATCH_ROWS - 1;
/** Events of one look at what is to be removed: each has up to four rows. */
const REMOVED_AT_ONCE = 50;

/** What is known of a slot's newest order. */
interface SlotState {
  readonly start: Place;
  readonly isOpen: boolean;
}

export class EventBook {
  readonly #store: StateStore;
  readonly #keys: RowKeys;
  #cursor: IndexCursor | null = null;
  #generation = 0;

  constructor(store: StateStore, keys: RowKeys) {
    this.#store = store;
    this.#keys = keys;
  }

  /** Null before the first block is known. */
  get cursor(): IndexCursor | null {
    return this.#cursor;
  }

  /** Another number once rows were taken back: what was read before and after it does not belong together. */
  get generation(): number {
    return this.#generation;
  }

  /** From what is durable. */
  async load(): Promise<void> {
    const row = await this.#store.get(CURSOR_NAMESPACE, this.#keys.cursor);
    this.#cursor = row === null ? null : decodeCursor(row);
    this.#generation++;
    await this.removeAbove();
  }

  /** Begins at that block, and again where the index began later. */
  async begin(since: IndexCursor["since"], parentHash: string): Promise<void> {
    const before = this.#cursor;
    if (before !== null && before.since.block <= since.block) return;
    await this.#commit([], firstCursor(since, parentHash), true);
    await this.removeAbove();
  }

  /**
   * Events of the blocks up to `to`, in the order of the chain, none of them at or below the cursor. `parent`: what the chain
   * has below them, where that is known.
   */
  async append(events: readonly VenuefiveEvent[], to: Checkpoint, parent: Checkpoint | null = null): Promise<void> {
    const slots: SlotStates = new Map();
    let writes: StateWrite[] = [];
    let count = 0;
    for (const ofBlock of byBlock(events)) {
      const added = await this.#writesOf(ofBlock, slots);
      const [first] = ofBlock;
      if (first !== undefined && writes.length + added.length > WRITES_MAX && count > 0) {
        await this.#passTo(writes, lastOf(events, first), count, parent);
        [writes, count] = [[], 0];
      }
      writes.push(...added);
      count += ofBlock.length;
      // A block of more than one commit: the cursor comes with the last of them.
      while (writes.length > WRITES_MAX) await this.#commit(writes.splice(0, WRITES_MAX), null);
    }
    await this.#passTo(writes, to, count, parent);
  }

  /** Back to a block that is of the chain; null: to none that is known. Returns how many events were taken out. */
  async takeBack(to: Checkpoint | null): Promise<number> {
    const before = this.#known();
    const next = takenBack(before, to, 0);
    const removed = await this.#countAbove(next.block);
    await this.#commit([], takenBack(before, to, removed), true);
    await this.removeAbove();
    return removed;
  }

  /** Removes what lies above the cursor; all, where there is none. */
  async removeAbove(): Promise<void> {
    const after = this.#keys.event(afterBlock(this.#cursor?.block ?? -1));
    for (;;) {
      const options = { prefix: this.#keys.events, after, limit: REMOVED_AT_ONCE };
      const rows = await this.#store.scan(EVENT_NAMESPACE, options);
      if (rows.length === 0) return;
      const kept = rows.map(({ value }) => decodeKept(value));
      await this.#store.commit({
        writes: kept.flatMap((one) => this.#rowsOf(one).map((row) => ({ ...row, value: null }))),
      });
    }
  }

  #known(): IndexCursor {
    if (this.#cursor === null) throw new Error("the index has no first block");
    return this.#cursor;
  }

  #passTo(writes: readonly StateWrite[], to: Checkpoint, count: number, parent: Checkpoint | null): Promise<void> {
    return this.#commit(writes, movedTo(this.#known(), to, count, parent));
  }

  /** In memory once it is durable. `isBack`: to a lower block, so that what was read before it is not all there any more. */
  async #commit(writes: readonly StateWrite[], cursor: IndexCursor | null, isBack = false): Promise<void> {
    const row =
      cursor === null ? [] : [{ namespace: CURSOR_NAMESPACE, key: this.#keys.cursor, value: encodeCursor(cursor) }];
    await this.#store.commit({ writes: [...writes, ...row] });
    if (cursor === null) return;
    this.#cursor = cursor;
    if (isBack) this.#generation++;
  }

  async #writesOf(events: readonly VenuefiveEvent[], slots: SlotStates): Promise<StateWrite[]> {
    const writes: StateWrite[] = [];
    for (const event of events) {
      const kept = { event, start: isOfOrder(event) ? await this.#startOf(event, slots) : null };
      const place = encodeJson(placeOf(event));
      for (const row of this.#rowsOf(kept))
        writes.push({ ...row, value: row.namespace === EVENT_NAMESPACE ? encodeJson(kept) : place });
    }
    return writes;
  }

  #rowsOf(kept: KeptEvent): readonly Pick<StateWrite, "namespace" | "key">[] {
    return [
      { namespace: EVENT_NAMESPACE, key: this.#keys.event(placeOf(kept.event)) },
      ...this.#keys.listed(kept).map((key) => ({ namespace: LIST_NAMESPACE, key })),
    ];
  }

  /** A slot is used again: a placing begins an order, and so does an event of one that was placed before the index began. */
  async #startOf(event: OrderEvent, slots: SlotStates): Promise<Place> {
    const key = this.#keys.slot(event);
    const state = event.kind === "placed" ? null : (slots.get(key) ?? (await this.#newestIn(key)));
    const start = state?.isOpen === true ? state.start : placeOf(event);
    slots.set(key, { start, isOpen: !endsOrder(event) });
    return start;
  }

  async #newestIn(slotKey: string): Promise<SlotState | null> {
    const [row] = await this.#store.scan(LIST_NAMESPACE, { prefix: slotKey, limit: 1 });
    const kept = row === undefined ? null : await this.eventAt(decodeJson(row.value) as Place);
    if (kept === null || kept.start === null || !isOfOrder(kept.event)) return null;
    return { start: kept.start, isOpen: !endsOrder(kept.event) };
  }

  /** Null: there is none, or its block vanished. */
  async eventAt(place: Place): Promise<KeptEvent | null> {
    const row = await this.#store.get(EVENT_NAMESPACE, this.#keys.event(place));
    return row === null ? null : decodeKept(row);
  }

  async #countAbove(block: number): Promise<number> {
    const top = this.#keys.event(afterBlock(this.#known().block));
    let count = 0;
    for (let after: string | undefined = this.#keys.event(afterBlock(block)); after !== undefined; ) {
      const rows = await this.#store.scan(EVENT_NAMESPACE, { prefix: this.#keys.events, after, limit: MAX_SCAN_ROWS });
      count += rows.filter(({ key }) => key <= top).length;
      after = rows.length < MAX_SCAN_ROWS ? undefined : rows.at(-1)?.key;
    }
    return count;
  }
}

type SlotStates = Map<string, SlotState>;

/** The block before that of `next` that has events. */
function lastOf(events: readonly VenuefiveEvent[], next: VenuefiveEvent): Checkpoint {
  const before = events[events.indexOf(next) - 1];
  if (before === undefined) throw new Error("there is no block before the first");
  return { block: before.block, hash: before.blockHash };
}

function byBlock(events: readonly VenuefiveEvent[]): readonly (readonly VenuefiveEvent[])[] {
  const blocks: VenuefiveEvent[][] = [];
  for (const event of events) {
    const last = blocks.at(-1);
    if (last?.[0]?.block === event.block) last.push(event);
    else blocks.push([event]);
  }
  return blocks;
}

/** Of a row that this program wrote. */
function decodeKept(bytes: Uint8Array): KeptEvent {
  return decodeJson(bytes) as KeptEvent;
}
