//! The listener for the operator's own machines: `/healthz`, `/readyz`, `/metrics`.
//!
//! Leaves what a page says to `health_page`. Invariant: it answers until the process ends, also
//! while everything else drains.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use listen::{Counted, Drain, HttpRefusal, RequestBody, RequestId, Serve};
use meter::Meter;

use super::chains::Chains;
use super::control;
use super::health_page::{metrics, readiness};

const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";
/// The text format of Prometheus, version 0.0.4.
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What the pages tell of.
pub(crate) struct Health {
    pub(crate) meter: Arc<Meter>,
    /// The services that run, with what they count.
    pub(crate) services: Vec<Arc<dyn Counted>>,
    pub(crate) chains: Arc<Mutex<Chains>>,
    pub(crate) indexes: control::Indexes,
    pub(crate) drain: Drain,
}

/// Status, content type and body.
type Page = (StatusCode, &'static str, String);

impl Health {
    fn page(&self, method: &Method, path: &str) -> Page {
        if !matches!(*method, Method::GET | Method::HEAD) {
            return (StatusCode::METHOD_NOT_ALLOWED, TEXT, "only GET\n".into());
        }
        let pools = || self.chains.lock().unwrap_or_else(PoisonError::into_inner).pools().to_vec();
        let indexes = || self.indexes.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match path {
            "/healthz" => (StatusCode::OK, TEXT, "alive\n".into()),
            "/readyz" => {
                let serves = self.meter.serves() && !self.drain.is_draining();
                let store = (self.drain.is_draining(), self.meter.store_answers());
                let (ready, body) = readiness(serves, store, &pools(), &indexes());
                let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
                (status, JSON, body)
            }
            "/metrics" => {
                let services = self.services.iter().map(|service| service.registry());
                let body = metrics(services, &self.meter, &pools(), &indexes());
                (StatusCode::OK, PROMETHEUS, body)
            }
            _ => (StatusCode::NOT_FOUND, TEXT, "only /healthz, /readyz, /metrics\n".into()),
        }
    }
}

impl Serve for Health {
    type Body = Full<Bytes>;

    async fn serve(
        self: &Arc<Self>,
        request: Request<RequestBody>,
        _peer: IpAddr,
    ) -> Response<Full<Bytes>> {
        let (status, content_type, body) = self.page(request.method(), request.uri().path());
        let mut response = Response::new(Full::new(Bytes::from(body)));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
        if status == StatusCode::METHOD_NOT_ALLOWED {
            headers.insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
        }
        RequestId::new().stamp(headers);
        response
    }

    fn http_refusal(&self) -> HttpRefusal {
        HttpRefusal {
            content_type: TEXT,
            request_id: RequestId::new().to_string(),
            body: Bytes::from_static(b"not an HTTP request that can be read\n"),
        }
    }
}
