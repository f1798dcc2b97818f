/**
 * The checksum of a streamed book: CRC-32 (ISO-HDLC, as zlib) over the texts of the best levels, as the stream's schema
 * defines.
 */
import type { Side } from "./book-side.js";

/** Levels of each side that the checksum covers. */
export const CRC_LEVELS = 10;

const TABLE: Uint32Array = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = (value & 1) === 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});

/** For ASCII text, which decimal texts and separators are. */
export function crc32(text: string): number {
  let crc = 0xffffffff;
  for (let index = 0; index < text.length; index++)
    crc = (TABLE[(crc ^ text.charCodeAt(index)) & 0xff] as number) ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}

/** `price:size` of the bids best first, then of the asks best first, texts as sent, joined by `|`. */
export function bookCrc(bids: Side, asks: Side): number {
  return crc32(
    [...bids.slice(0, CRC_LEVELS), ...asks.slice(0, CRC_LEVELS)].map(([price, size]) => `${price}:${size}`).join("|"),
  );
}
