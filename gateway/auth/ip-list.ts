/** Addresses from which a key may be used: addresses and CIDR blocks of both families (ip-address.ts). */
import { type AddressBlock, blockText, isInBlock, parseAddress, parseBlock } from "./ip-address.js";

/** Entries of one list. */
export const IP_LIST_MAX = 64;

export class IpList {
  readonly #blocks: readonly AddressBlock[];

  private constructor(blocks: readonly AddressBlock[]) {
    this.#blocks = blocks;
  }

  /** Returns the index of the first entry that is neither an address nor a block, or the list. */
  static parse(entries: readonly string[]): IpList | number {
    const blocks: AddressBlock[] = [];
    for (const [index, entry] of entries.entries()) {
      const block = parseBlock(entry);
      if (block === null) return index;
      blocks.push(block);
    }
    return new IpList(blocks);
  }

  get isEmpty(): boolean {
    return this.#blocks.length === 0;
  }

  /** What is no address is in no list. */
  has(addressText: string): boolean {
    const address = parseAddress(addressText);
    return address !== null && this.#blocks.some((block) => isInBlock(address, block));
  }

  /** In one form for each block, as they are stored and shown. */
  texts(): readonly string[] {
    return this.#blocks.map(blockText);
  }
}
