/**
 * A volume of a few MiB that fills as a real one does: a tmpfs in a mount namespace of its own. A process holds the
 * namespace open, so that it outlives the service that writes on it.
 *
 * Invariant: nothing is mounted outside that namespace, and `stop` ends it.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, statfsSync, truncateSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

const HOLD_MS = 30_000;
const CHUNK = Buffer.alloc(64 << 10, 1);

/** Command that makes a mount namespace here; null where none can. */
function namespaceFlags(): readonly string[] | null {
  const probe = mkdtempSync(join(tmpdir(), "unwind-mount-"));
  const mount = ["sh", "-c", `mount -t tmpfs -o size=1m tmpfs "$0" && nsenter -t $$ -m true`, probe];
  const possible = [["-m"], ["-r", "-m"]].find(
    (flags) => spawnSync("unshare", [...flags, "--", ...mount], { stdio: "ignore", timeout: HOLD_MS }).status === 0,
  );
  rmSync(probe, { recursive: true, force: true });
  return possible ?? null;
}

const FLAGS = process.platform === "linux" ? namespaceFlags() : null;

/** Skips by name where nothing can be mounted; on CI that is a failure. */
export const MOUNT_MISSING = process.env.CI !== "true" && FLAGS === null;
export const NEEDS_MOUNT = "(needs unshare, nsenter and a tmpfs in a mount namespace)";

export class SmallVolume {
  /** Path of the volume inside the namespace. */
  readonly directory: string;
  readonly #holder: ChildProcess;
  readonly #isUserNamespace: boolean;
  readonly #gone: Promise<void>;

  private constructor(directory: string, holder: ChildProcess, isUserNamespace: boolean) {
    this.directory = directory;
    this.#holder = holder;
    this.#isUserNamespace = isUserNamespace;
    this.#gone = new Promise((resolve) => holder.once("exit", () => resolve()));
  }

  /** Rejects where the mount fails. */
  static async start(sizeMiB: number): Promise<SmallVolume> {
    if (FLAGS === null) throw new Error(`no volume can be mounted here ${NEEDS_MOUNT}`);
    // In a folder of its own: a service keeps its count beside its data.
    const directory = join(mkdtempSync(join(tmpdir(), "unwind-volume-")), "data");
    mkdirSync(directory);
    const script = `mount -t tmpfs -o size=${sizeMiB}m,mode=700 tmpfs "$0" && echo held && exec cat`;
    // The process ends with this one, because its input closes then.
    const holder = spawn("unshare", [...FLAGS, "--", "sh", "-c", script, directory], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    await new Promise<void>((resolve, reject) => {
      holder.stdout?.once("data", () => resolve());
      holder.once("error", reject);
      holder.once("exit", () => reject(new Error("the volume could not be mounted")));
    });
    return new SmallVolume(directory, holder, FLAGS.includes("-r"));
  }

  /** Returns the command that runs on the volume; the process keeps its pid. */
  inside(command: readonly string[]): readonly string[] {
    const user = this.#isUserNamespace ? ["-U", "--preserve-credentials"] : [];
    return ["nsenter", "-t", String(this.#holder.pid), ...user, "-m", "--", ...command];
  }

  /** Returns the same folder, as this process sees it. */
  get outside(): string {
    return join("/proc", String(this.#holder.pid), "root", this.directory);
  }

  get freeBytes(): number {
    const { bavail, bsize } = statfsSync(this.outside);
    return bavail * bsize;
  }

  /** Fills the volume but for so many bytes; 0: to the last byte. */
  fillTo(freeBytes: number): void {
    mkdirSync(join(this.outside, "others"), { recursive: true });
    const file = openSync(join(this.outside, "others", "fill"), "a");
    try {
      for (let left = this.freeBytes - freeBytes; left > 0; left = this.freeBytes - freeBytes)
        writeSync(file, CHUNK, 0, Math.min(CHUNK.length, left));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
    } finally {
      closeSync(file);
    }
  }

  /** Frees what `fillTo` took. */
  clear(): void {
    truncateSync(join(this.outside, "others", "fill"));
  }

  async stop(): Promise<void> {
    this.#holder.stdin?.end();
    await this.#gone;
    rmSync(dirname(this.directory), { recursive: true, force: true });
  }
}
