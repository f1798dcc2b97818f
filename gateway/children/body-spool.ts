/**
 * Bodies of requests: small statements go into memory, data of inserts into a file, because the engine takes binary
 * formats only from files. Bodies are decompressed on arrival.
 *
 * Invariant: one budget limits the bytes of all bodies held at once; a body that exceeds it, or its own limit, is
 * refused and its file removed.
 */
import { createHash } from "node:crypto";
import { lstatSync, mkdirSync, readdirSync, realpathSync, rmSync, statfsSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { join } from "node:path";
import { type Readable, Transform, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { EngineError } from "./engine-error.js";

const TOO_MANY = 202;
const TOO_MANY_BYTES = 307;
const NOT_IMPLEMENTED = 48;
const INCORRECT_DATA = 117;

export interface BodyBounds {
  /** Maximum of one body, decompressed. */
  readonly bodyBytesMax: number;
  /** Maximum of all bodies at once. */
  readonly budgetBytes: number;
}

/** A body that is held; `release` returns its bytes to the budget and removes the file. */
export interface HeldBody {
  /** "" for one in memory. */
  readonly path: string;
  /** Empty for one in a file. */
  readonly bytes: Buffer;
  readonly byteCount: number;
  release(): void;
}

export class BodySpool {
  readonly #directory: string;
  readonly #bounds: BodyBounds;
  #heldBytes = 0;
  #nextId = 1;

  /** `directory` is used by this spool alone: files that a killed process left in it are removed. */
  constructor(directory: string, bounds: BodyBounds) {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    for (const name of readdirSync(directory)) rmSync(join(directory, name), { force: true });
    this.#directory = directory;
    this.#bounds = bounds;
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  async toMemory(request: IncomingMessage): Promise<HeldBody> {
    const chunks: Buffer[] = [];
    const sink = new Writable({
      write(chunk: Buffer, _encoding, done) {
        chunks.push(chunk);
        done();
      },
    });
    const hold = this.#hold("");
    await this.#receive(request, hold, sink);
    return hold.done(Buffer.concat(chunks));
  }

  async toFile(request: IncomingMessage): Promise<HeldBody> {
    const path = this.#newPath();
    const hold = this.#hold(path);
    await this.#receive(request, hold, await this.#openFile(path));
    return hold.done(Buffer.alloc(0));
  }

  /** For data that followed its statement in one body. */
  async bytesToFile(bytes: Uint8Array): Promise<HeldBody> {
    const path = this.#newPath();
    const hold = this.#hold(path);
    try {
      hold.add(bytes.byteLength);
      const file = await this.#open(path);
      try {
        await file.writeFile(bytes);
      } finally {
        await file.close();
      }
    } catch (error) {
      hold.release();
      throw spoolError(error);
    }
    return hold.done(Buffer.alloc(0));
  }

  close(): void {
    rmSync(this.#directory, { recursive: true, force: true });
  }

  /**
   * Opens the file before the first byte comes: a body refused while its file is still being opened would leave the
   * file behind.
   */
  async #openFile(path: string): Promise<Writable> {
    try {
      return (await this.#open(path)).createWriteStream();
    } catch (error) {
      throw spoolError(error);
    }
  }

  /** A cleaner of memory-backed folders, run when a user logs out, may remove this folder: it is created again. */
  async #open(path: string): Promise<FileHandle> {
    try {
      return await open(path, "wx", 0o600);
    } catch (error) {
      if (codeOf(error) !== "ENOENT") throw error;
      // Fails if another program has taken the name by now.
      mkdirSync(this.#directory, { mode: 0o700 });
      return open(path, "wx", 0o600);
    }
  }

  #newPath(): string {
    return join(this.#directory, `${this.#nextId++}.bin`);
  }

  async #receive(request: IncomingMessage, hold: Hold, sink: Writable): Promise<void> {
    const meter = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        try {
          hold.add(chunk.byteLength);
          done(null, chunk);
        } catch (error) {
          done(error as Error);
        }
      },
    });
    try {
      const decoder = decoderOf(request);
      // A pipeline destroys its source when it fails, and with a request also the socket that the refusal must use.
      const source = request.iterator({ destroyOnReturn: false });
      await (decoder === null ? pipeline(source, meter, sink) : pipeline(source, decoder, meter, sink));
    } catch (error) {
      sink.destroy();
      hold.release();
      request.resume();
      throw spoolError(error);
    }
  }

  #hold(path: string): Hold {
    let byteCount = 0;
    let released = false;
    const release = () => {
      if (released) return;
      released = true;
      this.#heldBytes -= byteCount;
      if (path === "") return;
      try {
        rmSync(path, { force: true });
      } catch {
        // The next start removes what cannot be removed now; the reply is unaffected.
      }
    };
    return {
      add: (bytes) => {
        if (byteCount + bytes > this.#bounds.bodyBytesMax)
          throw new EngineError(TOO_MANY_BYTES, `The request's body is larger than ${this.#bounds.bodyBytesMax} bytes`);
        if (this.#heldBytes + bytes > this.#bounds.budgetBytes)
          throw new EngineError(TOO_MANY, "Too many simultaneous queries: their bodies exceed the budget");
        byteCount += bytes;
        this.#heldBytes += bytes;
      },
      release,
      done: (bytes) => ({ path, bytes, byteCount, release }),
    };
  }
}

interface Hold {
  add(bytes: number): void;
  release(): void;
  done(bytes: Buffer): HeldBody;
}

function decoderOf(request: IncomingMessage): (Readable & Writable) | null {
  const encoding = request.headers["content-encoding"] ?? "";
  if (encoding === "" || encoding === "identity") return null;
  if (encoding === "gzip") return createGunzip();
  if (encoding === "deflate") return createInflate();
  if (encoding === "br") return createBrotliDecompress();
  throw new EngineError(NOT_IMPLEMENTED, "Content-Encoding must be gzip, deflate, br or identity");
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? "";
}

function spoolError(error: unknown): EngineError {
  if (error instanceof EngineError) return error;
  const code = codeOf(error);
  if (code === "ENOSPC" || code === "EDQUOT" || code === "EFBIG")
    return new EngineError(NOT_ENOUGH_SPACE, "Not enough space for the request's body (NOT_ENOUGH_SPACE)", {
      cause: error,
    });
  // A failed file-system call concerns our own file. Reported as a fault of the bytes, it would end the retries of a
  // sound batch.
  if ((error as NodeJS.ErrnoException).syscall !== undefined)
    return new EngineError(CANNOT_WRITE, `The request's body could not be held: ${code}`, { cause: error });
  return new EngineError(INCORRECT_DATA, `The request's body could not be read: ${code || "malformed"}`, {
    cause: error,
  });
}

const CANNOT_WRITE = 75;
const NOT_ENOUGH_SPACE = 243;

/**
 * Returns a memory-backed folder where the platform has one with room for the budget; bodies then never reach a disk.
 * It is named after the data directory, whose lock the caller holds: the next process finds it and removes what a
 * killed one left.
 */
export function spoolDirectory(dataDirectory: string, budgetBytes: number): string {
  try {
    const volume = statfsSync(MEMORY_VOLUME);
    const name = createHash("sha256").update(realpathSync(dataDirectory)).digest("hex").slice(0, 16);
    const path = join(MEMORY_VOLUME, `unwind-records-${name}`);
    if (volume.type === TMPFS_MAGIC && volume.bavail * volume.bsize > 2 * budgetBytes && isOursAlone(path)) return path;
  } catch {
    // This platform has none.
  }
  return join(dataDirectory, "spool");
}

const MEMORY_VOLUME = "/dev/shm";
const TMPFS_MAGIC = 0x01021994;

/** Every user may create names there: a folder of another user, or a link, is not used. */
function isOursAlone(path: string): boolean {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const found = lstatSync(path);
  return found.isDirectory() && found.uid === process.getuid?.() && (found.mode & 0o077) === 0;
}
