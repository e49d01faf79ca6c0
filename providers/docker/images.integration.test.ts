import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import type { ContainerProvider } from '../contract/index.ts';
import { BUSYBOX, EngineNode } from './testing/engine-node.ts';
import { TinyRegistry } from './testing/tiny-registry.ts';

describe('images on an engine', () => {
  let node: EngineNode;
  let provider: ContainerProvider;
  let registry: TinyRegistry | undefined;
  beforeEach(async () => {
    node = new EngineNode(inject('testBed').socket);
    provider = await node.open();
  });
  afterEach(async () => {
    await registry?.close();
    registry = undefined;
    await node.dispose();
  });

  async function serve(credentials?: string): Promise<string> {
    registry = new TinyRegistry(credentials);
    return registry.open();
  }

  it('are pulled, known by their digest, listed and removed', async () => {
    const host = await serve();
    const image = `${host}/app:1`;
    expect(await provider.images.imagePresent(image, node.options)).toBeUndefined();
    const pulled = await provider.images.pullImage(image, [], node.options);
    expect(pulled).toMatchObject({ imageId: `${host}/app@${registry?.digest}`, user: '1234:5678' });
    expect(await provider.images.imagePresent(image, node.options)).toEqual(pulled);
    const listed = (await provider.images.listImages(node.options)).find(({ names }) => names.includes(image));
    expect(listed?.names).toContain(pulled.imageId);
    await provider.images.removeImage(listed?.id ?? '', node.options);
    expect(await provider.images.imagePresent(image, node.options)).toBeUndefined();
    await expect(provider.images.removeImage(listed?.id ?? '', node.options)).rejects.toMatchObject({
      code: 'NotFound',
    });
  });

  it('are pulled by digest', async () => {
    const host = await serve();
    const image = `${host}/app@${registry?.digest}`;
    const { imageId } = await provider.images.pullImage(image, [], node.options);
    expect(imageId).toBe(image);
    await node.docker.getImage(image).remove();
  });

  it('that are not in the registry are told apart from a registry that refuses or is not there', async () => {
    const host = await serve('user:secret');
    const pull = (image: string, password?: string) =>
      provider.images.pullImage(
        image,
        password === undefined ? [] : [{ registry: host, username: 'user', password }],
        node.options,
      );
    await expect(pull(`${host}/app:2`, 'secret')).rejects.toMatchObject({ code: 'ImageNotFound' });
    await expect(pull(`${host}/app:1`, 'wrong')).rejects.toMatchObject({ code: 'ImagePullDenied' });
    await expect(pull(`${host}/app:1`)).rejects.toMatchObject({ code: 'ImagePullDenied' });
    await expect(pull('127.0.0.1:1/app:1')).rejects.toMatchObject({ code: 'Internal', reason: 'ErrImagePull' });
  });

  it('are pulled with whichever of the matching credentials is let in', async () => {
    const host = await serve('user:secret');
    const auths = [
      { registry: 'other.example', username: 'user', password: 'secret' },
      { registry: host, username: 'user', password: 'old' },
      { registry: host, username: 'user', password: 'secret' },
    ];
    const image = `${host}/app:1`;
    await expect(provider.images.pullImage(image, auths, node.options)).resolves.toMatchObject({ user: '1234:5678' });
    await node.docker.getImage(image).remove();
  });

  it('of the sandbox is pulled when it is not there', async () => {
    const missing = await node.open({ sandboxImage: '127.0.0.1:1/pause:1' });
    await expect(missing.ensureSandbox(node.sandbox(), node.options)).rejects.toMatchObject({
      reason: 'FailedCreatePodSandBox',
      message: expect.stringContaining('127.0.0.1:1'),
    });
  });

  it('that a container needs and that are gone fail its creation', async () => {
    const pod = node.sandbox();
    await provider.ensureSandbox(pod, node.options);
    const spec = node.shell('true', { image: '127.0.0.1:1/app:1' });
    await expect(provider.startContainer(pod, spec, node.options)).rejects.toMatchObject({
      code: 'ImageNotFound',
      reason: 'CreateContainerError',
    });
  });

  it('in use are not removed', async () => {
    const pod = node.sandbox();
    await provider.ensureSandbox(pod, node.options);
    await provider.startContainer(pod, node.shell('sleep 3600'), node.options);
    const repo = `localhost/${node.name}`;
    const container = await node.docker.createContainer({ Image: BUSYBOX });
    await container.commit({ repo, tag: '1' });
    await container.remove();
    const spec = node.shell('sleep 3600', { name: 'own', image: `${repo}:1` });
    await provider.startContainer(pod, spec, node.options);
    const { Id } = await node.docker.getImage(`${repo}:1`).inspect();
    await expect(provider.images.removeImage(Id, node.options)).rejects.toMatchObject({ reason: 'ImageInUse' });
    await provider.removeSandbox(pod.pod.uid, node.options);
    await provider.images.removeImage(Id, node.options);
  });
});
