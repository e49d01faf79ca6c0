import { Router } from 'express';

export interface ConfigzDeps {
  /** The effective configuration as a KubeletConfiguration. */
  kubeletConfiguration(): object;
}

/** As the kubelet, whatever the method. */
export function configzRoutes({ kubeletConfiguration }: ConfigzDeps): Router {
  const router = Router({ caseSensitive: true, strict: true });
  router.all('/configz', (_request, response) => {
    response.json({ kubeletconfig: kubeletConfiguration() });
  });
  return router;
}
