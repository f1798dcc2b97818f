/** What a contract's log says, by its words: topics and data as an EVM chain has them. */
import type { ChainLog } from "../../../engine/chain.js";

const WORD_BYTES = 32;

/** An indexed address, as it stands in a topic. */
export function addressTopic(address: string): string {
  return `0x${address
    .slice(2)
    .toLowerCase()
    .padStart(2 * WORD_BYTES, "0")}`;
}

/** Whether the contract wrote this event; a topic that is null may be any. */
export function isEvent(log: ChainLog, contract: string, topics: readonly (string | null)[]): boolean {
  return (
    log.address.toLowerCase() === contract.toLowerCase() &&
    log.topics.length === topics.length &&
    topics.every((topic, index) => topic === null || log.topics[index]?.toLowerCase() === topic)
  );
}

/** The word at this place of the data as an integer; null where the data ends before it does. */
export function uintWord(data: Uint8Array, index: number): bigint | null {
  const word = data.subarray(WORD_BYTES * index, WORD_BYTES * (index + 1));
  return word.length < WORD_BYTES ? null : BigInt(`0x${Buffer.from(word).toString("hex")}`);
}
