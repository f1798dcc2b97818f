/**
 * Base58 with the Bitcoin alphabet over whole big integers: written apart from the room's, so that a mistake there
 * gives another result here.
 */
const ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
/** Enough for 64 bytes; longer texts are not decoded. */
const MAX_CHARS = 120;

export function toBase58(bytes: Uint8Array): string {
  let number = BigInt(`0x0${Buffer.from(bytes).toString("hex")}`);
  let text = "";
  for (; number > 0n; number /= 58n) text = `${ALPHABET[Number(number % 58n)]}${text}`;
  let zeros = 0;
  while (zeros < bytes.length && bytes[zeros] === 0) zeros++;
  return "1".repeat(zeros) + text;
}

/** Returns null unless the text encodes exactly `length` bytes. */
export function fromBase58(text: string, length: number): Buffer | null {
  if (text === "" || text.length > MAX_CHARS) return null;
  let number = 0n;
  for (const letter of text) {
    const value = ALPHABET.indexOf(letter);
    if (value < 0) return null;
    number = number * 58n + BigInt(value);
  }
  const digits = number === 0n ? "" : number.toString(16);
  const body = Buffer.from(digits.length % 2 === 0 ? digits : `0${digits}`, "hex");
  const zeros = text.length - text.replace(/^1+/, "").length;
  return zeros + body.length === length ? Buffer.concat([Buffer.alloc(zeros), body]) : null;
}
