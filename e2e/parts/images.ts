import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isRoot } from './apt.ts';
import type { DockerHttp } from './docker-http.ts';
import { agnhostRoot, busyboxRoot, goProgramRoot } from './image-roots.ts';
import type { Progress } from './progress.ts';

interface Recipe {
  /** The first is the name; the others are what Kubernetes' own suites call the same image. */
  readonly tags: readonly string[];
  /** Lines of a Dockerfile that say how it is run. */
  readonly changes: readonly string[];
  /** To be raised when `root` changes, so that what was built before is built again. */
  readonly version: number;
  /** Sources that the image depends on. */
  readonly sources: readonly string[];
  /** Fills an empty folder with the image's files. */
  readonly root: (dir: string, progress: Progress) => Promise<void>;
}

const SOURCES = join(import.meta.dirname, 'images');
const PATH = 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

const RECIPES = {
  pause: {
    tags: ['registry.k8s.io/pause:3.10.2'],
    changes: ['ENTRYPOINT ["/pause"]', 'USER 65535:65535'],
    version: 1,
    sources: ['pause', 'go.mod'],
    root: (dir, progress) => goProgramRoot(join(SOURCES, 'pause'), 'pause', dir, progress),
  },
  hello: {
    tags: ['localhost/outrigger-hello:1'],
    changes: ['ENTRYPOINT ["/hello"]', 'EXPOSE 8080', 'USER 65535:65535'],
    version: 1,
    sources: ['hello', 'go.mod'],
    root: (dir, progress) => goProgramRoot(join(SOURCES, 'hello'), 'hello', dir, progress),
  },
  busybox: {
    tags: ['registry.k8s.io/e2e-test-images/busybox:1.37.0-1'],
    changes: [PATH, 'CMD ["sh"]'],
    version: 1,
    sources: [],
    root: busyboxRoot,
  },
  agnhost: {
    tags: ['registry.k8s.io/e2e-test-images/agnhost:2.63.0', 'registry.k8s.io/e2e-test-images/agnhost:2.55'],
    changes: [PATH, 'ENTRYPOINT ["/agnhost"]', 'CMD ["pause"]', 'EXPOSE 80 8080 8081 9376 5000'],
    version: 2,
    sources: [],
    root: agnhostRoot,
  },
} as const satisfies Record<string, Recipe>;

export type ImageName = keyof typeof RECIPES;

export const IMAGES: { readonly [N in ImageName]: string } = {
  pause: RECIPES.pause.tags[0],
  hello: RECIPES.hello.tags[0],
  busybox: RECIPES.busybox.tags[0],
  agnhost: RECIPES.agnhost.tags[0],
};

const LABEL = 'outrigger.recipe';

/** Builds and imports those images that the engine does not have from the same recipe and sources. */
export async function ensureImages(docker: DockerHttp, names: readonly ImageName[], progress: Progress): Promise<void> {
  for (const name of names) {
    const recipe: Recipe = RECIPES[name];
    const [main, ...others] = recipe.tags;
    if (main === undefined) continue;
    const key = recipeKey(recipe);
    if ((await docker.image(main))?.Config?.Labels?.[LABEL] !== key) {
      await progress.during(`building the image ${main}`, () => importRecipe(docker, recipe, main, key, progress));
    }
    for (const other of others) {
      if ((await docker.image(other))?.Config?.Labels?.[LABEL] !== key) await docker.tagImage(main, other);
    }
  }
}

async function importRecipe(
  docker: DockerHttp,
  recipe: Recipe,
  name: string,
  key: string,
  progress: Progress,
): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'outrigger-image-'));
  const root = join(dir, 'root');
  mkdirSync(root, { mode: 0o755 });
  try {
    await recipe.root(root, progress);
    // Files of an ordinary user belong to root inside all the same.
    const owner = isRoot() ? [] : ['--owner=0', '--group=0'];
    const tar = spawn('tar', ['-C', root, '--numeric-owner', ...owner, '--sort=name', '-c', '.'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await docker.importImage(tar.stdout, name, [...recipe.changes, `LABEL ${LABEL}=${key}`]);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

function recipeKey({ changes, version, sources }: Recipe): string {
  const hash = createHash('sha256').update(JSON.stringify([changes, version]));
  for (const source of sources) for (const file of filesBelow(join(SOURCES, source))) hash.update(readFileSync(file));
  return hash.digest('hex').slice(0, 20);
}

function filesBelow(path: string): string[] {
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path)
    .sort()
    .flatMap((name) => filesBelow(join(path, name)));
}
