import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['{src,providers}/**/*.test.ts', 'e2e/parts/**/*.test.ts'],
          exclude: ['**/*.integration.test.ts'],
          testTimeout: 10_000,
        },
      },
      {
        test: {
          name: 'integration',
          include: ['{src,providers}/**/*.integration.test.ts'],
          globalSetup: './e2e/setup.ts',
          testTimeout: 60_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: 'e2e',
          include: ['e2e/**/*.test.ts'],
          exclude: ['e2e/parts/**', '**/*.long.test.ts'],
          globalSetup: './e2e/setup.ts',
          // They mostly wait.
          maxConcurrency: 40,
          testTimeout: 240_000,
          hookTimeout: 300_000,
          fileParallelism: false,
        },
      },
      {
        test: {
          // What waits longer than a minute: `npm run test:long`.
          name: 'long',
          include: ['e2e/**/*.long.test.ts'],
          globalSetup: './e2e/setup.ts',
          testTimeout: 600_000,
          hookTimeout: 300_000,
          fileParallelism: false,
        },
      },
    ],
  },
});
