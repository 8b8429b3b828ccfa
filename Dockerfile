# One image for gateway, worker and command lines, for example `docker run … node build/main.ts nightly`.
FROM node:24-bookworm-slim

WORKDIR /app
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8080 VAR_DIR=/app/var MALLOC_ARENA_MAX=2

COPY package.json package-lock.json ./
RUN npm ci --omit=dev --no-audit --no-fund && npm cache clean --force

COPY data ./data
COPY build ./build
COPY gateway ./gateway
COPY admin ./admin
RUN install -d -o 1000 -g 1000 var

# The image's `node` user. Kubernetes verifies `runAsNonRoot` by number only.
USER 1000:1000
VOLUME /app/var
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/healthz`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "--max-semi-space-size=64", "gateway/main.ts"]
