/**
 * Where the chain's program lies. It comes as an optional package for each platform; the launcher around it is not
 * used, so that the process started is the chain itself and no install script has to have run.
 */
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const PLATFORMS: Readonly<Record<string, string>> = {
  "linux x64": "linux-amd64",
  "linux arm64": "linux-arm64",
  "darwin x64": "darwin-amd64",
  "darwin arm64": "darwin-arm64",
  "win32 x64": "win32-amd64",
};

/** The binary's path. Null where the optional package is not installed or there is none for this platform. */
export function anvilBinary(platform: string = process.platform, arch: string = process.arch): string | null {
  const name = PLATFORMS[`${platform} ${arch}`];
  if (name === undefined) return null;
  const require = createRequire(import.meta.url);
  try {
    // Resolved from the package that depends on it: a package manager may nest it there.
    const launcher = createRequire(require.resolve("@foundry-rs/anvil/package.json"));
    const folder = dirname(launcher.resolve(`@foundry-rs/anvil-${name}/package.json`));
    return join(folder, "bin", platform === "win32" ? "anvil.exe" : "anvil");
  } catch {
    return null;
  }
}
