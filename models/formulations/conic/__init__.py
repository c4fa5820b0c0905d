"""The conic SVM: form, statement, closed-form dual bound, point and loss."""
