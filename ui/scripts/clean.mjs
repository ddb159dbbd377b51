// Removes what an earlier build made, and keeps the file that holds the directory.
import { readdirSync, rmSync } from "node:fs";

const dist = new URL("../dist/", import.meta.url);
for (const name of readdirSync(dist)) {
  if (name !== ".gitignore") rmSync(new URL(name, dist), { recursive: true });
}
