# One image for every process: web, relay, consumers, migration. Nothing is compiled.
FROM python:3.13-slim

ENV PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1

RUN useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin catalogsite

WORKDIR /app
COPY requirements.txt .
RUN pip install --no-cache-dir --no-compile --only-binary=:all: -r requirements.txt

COPY . .
# The key signs nothing: collecting static files only needs the settings to be complete.
RUN SECRET_KEY=used-while-building-alone DEBUG=false python manage.py collectstatic --no-input \
    && install -d -o catalogsite var

USER catalogsite
EXPOSE 8000
CMD ["gunicorn", "--bind", "0.0.0.0:8000"]
